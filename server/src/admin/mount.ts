import { Hono } from 'hono'
import { ApiError } from '../contract/errors.ts'
import { rejectMethod, toApiError } from '../http/response.ts'
import { type Env, logFields, type Server } from '../http/server.ts'
import { mountAssets } from './assets.ts'
import { commissionRoutes } from './commissions.ts'
import { deliveryRoutes } from './deliveries.ts'
import { journeyRoutes } from './journey.ts'
import { keyRoutes } from './keys.ts'
import { orderRoutes } from './orders.ts'
import { overviewRoutes } from './overview.ts'
import { payoutRoutes } from './payouts.ts'
import { problemPage, sendPage } from './problem.ts'
import { servePage } from './serve.ts'
import { mountSignIn, signOutRoutes } from './sign-in.ts'
import { webhookRoutes } from './webhooks.ts'

const routes = [
  overviewRoutes,
  commissionRoutes,
  payoutRoutes,
  orderRoutes,
  journeyRoutes,
  keyRoutes,
  webhookRoutes,
  deliveryRoutes,
  signOutRoutes,
].flat()

/** Mounts the Developer page: every page below `/admin`. Operations of openapi.yaml are mounted before and take precedence. */
export function mountAdmin(app: Hono<Env>, server: Server): void {
  const pages = new Hono<Env>()
  mountAssets(pages)
  mountSignIn(pages, server)
  for (const route of routes)
    pages.on('show' in route ? 'GET' : 'POST', `/admin${route.path}`, servePage(server, route))
  for (const [path, methods] of methodsByPath(pages)) pages.all(path, rejectMethod(methods))
  pages.all('/admin/*', (c, next) => {
    const { pathname, search } = new URL(c.req.url)
    if (pathname.startsWith('/admin/v1/')) return next()
    if (c.req.method === 'GET' && pathname.endsWith('/')) return c.redirect(pathname.slice(0, -1) + search, 308)
    throw new ApiError(404, 'path_unknown', 'No such page.')
  })
  pages.onError((error, c) => sendPage(c, problemPage(toApiError(server, error, logFields(c.get('request'))))))
  app.route('/', pages)
}

function methodsByPath(pages: Hono<Env>): Map<string, string[]> {
  const paths = Map.groupBy(pages.routes, ({ path }) => path)
  return new Map([...paths].map(([path, own]) => [path, own.map(({ method }) => method)]))
}
