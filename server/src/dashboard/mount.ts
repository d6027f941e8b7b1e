import { Hono } from 'hono'
import { ApiError } from '../contract/errors.ts'
import { rejectMethod, toApiError } from '../http/response.ts'
import { type Env, logFields, type RequestState, type Server } from '../http/server.ts'
import { affiliatePageRoutes } from './affiliates/affiliate.ts'
import { affiliateRoutes } from './affiliates/affiliates.ts'
import { payeeRoutes } from './affiliates/payee.ts'
import { mountAssets } from './assets.ts'
import { commissionBulkRoutes } from './commissions/commission-bulk.ts'
import { commissionRoutes } from './commissions/commissions.ts'
import { couponRoutes } from './coupons/coupons.ts'
import { customerRoutes } from './customers/customers.ts'
import { deliveryRoutes } from './developers/deliveries.ts'
import { journeyRoutes } from './developers/journey.ts'
import { keyRoutes } from './developers/keys.ts'
import { webhookRoutes } from './developers/webhooks.ts'
import { orderRoutes } from './orders/orders.ts'
import { overviewRoutes } from './overview/overview.ts'
import { payoutRoutes } from './payouts/payouts.ts'
import { mountPortal } from './portal/portal.ts'
import { backtestRoutes } from './programs/backtest.ts'
import { programPageRoutes } from './programs/program.ts'
import { programTermsRoutes } from './programs/program-terms.ts'
import { programRoutes } from './programs/programs.ts'
import { searchRoutes } from './search/search.ts'
import { problemPage, sendPage } from './send.ts'
import { servePage } from './serve-page.ts'
import { accountRoutes } from './settings/account.ts'
import { auditRoutes } from './settings/audit.ts'
import { settingsRoutes } from './settings/settings.ts'
import { teamRoutes } from './settings/team.ts'
import { testShopRoutes } from './settings/test-shops.ts'
import { mountOidc } from './sign-in/oidc.ts'
import { mountSignIn, signOutRoutes } from './sign-in/sign-in.ts'

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
