import { Hono } from 'hono'
import { ApiError } from '../contract/errors.ts'
import { rejectMethod, toApiError } from '../http/response.ts'
import { type Env, logFields, type RequestState, type Server } from '../http/server.ts'
import { accountRoutes } from './account.ts'
import { affiliatePageRoutes } from './affiliate.ts'
import { affiliateRoutes } from './affiliates.ts'
import { mountAssets } from './assets.ts'
import { auditRoutes } from './audit.ts'
import { backtestRoutes } from './backtest.ts'
import { commissionBulkRoutes } from './commission-bulk.ts'
import { commissionRoutes } from './commissions.ts'
import { couponRoutes } from './coupons.ts'
import { customerRoutes } from './customers.ts'
import { deliveryRoutes } from './deliveries.ts'
import { journeyRoutes } from './journey.ts'
import { keyRoutes } from './keys.ts'
import { mountOidc } from './oidc.ts'
import { orderRoutes } from './orders.ts'
import { overviewRoutes } from './overview.ts'
import { payeeRoutes } from './payee.ts'
import { payoutRoutes } from './payouts.ts'
import { mountPortal } from './portal.ts'
import { programPageRoutes } from './program.ts'
import { programTermsRoutes } from './program-terms.ts'
import { programRoutes } from './programs.ts'
import { searchRoutes } from './search.ts'
import { problemPage, sendPage } from './send.ts'
import { servePage } from './serve-page.ts'
import { settingsRoutes } from './settings.ts'
import { mountSignIn, signOutRoutes } from './sign-in.ts'
import { teamRoutes } from './team.ts'
import { testShopRoutes } from './test-shops.ts'
import { webhookRoutes } from './webhooks.ts'

const routes = [
  overviewRoutes,
  searchRoutes,
  orderRoutes,
  commissionRoutes,
  commissionBulkRoutes,
  affiliateRoutes,
  affiliatePageRoutes,
  payeeRoutes,
  customerRoutes,
  programRoutes,
  programPageRoutes,
  programTermsRoutes,
  backtestRoutes,
  couponRoutes,
  payoutRoutes,
  journeyRoutes,
  keyRoutes,
  webhookRoutes,
  deliveryRoutes,
  settingsRoutes,
  teamRoutes,
  testShopRoutes,
  accountRoutes,
  auditRoutes,
  signOutRoutes,
].flat()

/** What the app hands over with a request that it has started. */
export interface PageBindings {
  request: RequestState
}

/** Every page: those of the dashboard below `/admin`, and those of affiliates below `/affiliate`. */
export function createDashboard(server: Server): Hono<Env> {
  const pages = new Hono<Env>()
  pages.use((c, next) => {
    c.set('request', (c.env as PageBindings).request)
    return next()
  })
  mountAssets(pages)
  mountSignIn(pages, server)
  mountOidc(pages, server)
  mountPortal(pages, server)
  for (const route of routes)
    pages.on('show' in route ? 'GET' : 'POST', `/admin${route.path}`, servePage(server, route))
  for (const [path, methods] of methodsByPath(pages)) pages.all(path, rejectMethod(methods))
  pages.all('/admin/*', (c) => {
    const { pathname, search } = new URL(c.req.url)
    if (c.req.method === 'GET' && pathname.endsWith('/')) return c.redirect(pathname.slice(0, -1) + search, 308)
    throw pageUnknown()
  })
  pages.notFound(() => {
    throw pageUnknown()
  })
  pages.onError((error, c) => sendPage(c, problemPage(toApiError(server, error, logFields(c.get('request'))))))
  return pages
}

const pageUnknown = () => new ApiError(404, 'path_unknown', 'No such page.')

function methodsByPath(pages: Hono<Env>): Map<string, string[]> {
  const served = pages.routes.filter(({ method }) => method !== 'ALL')
  const paths = Map.groupBy(served, ({ path }) => path)
  return new Map([...paths].map(([path, routes]) => [path, routes.map(({ method }) => method)]))
}
