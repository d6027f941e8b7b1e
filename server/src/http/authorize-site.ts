import type { Context as HonoContext } from 'hono'
import { apiDisabled, forbidden, notFound, rateLimited } from '../contract/errors.ts'
import type { Operation } from '../contract/spec.ts'
import { clockOf, type SiteContext } from '../core/context.ts'
import type { Reader } from '../database/database.ts'
import type { ShopRow } from '../database/tables.ts'
import { findShop } from '../domains/accounts/queries.ts'
import { requirePlan } from './authorize-key.ts'
import { STORE_LIMIT_FACTOR } from './authorize-store.ts'
import { toLookupText } from './parse-request.ts'
import { ADDRESS_LIMIT, limitPublic, type RateLimit } from './rate-limit.ts'
import type { RequestState, Server } from './server.ts'

/** Names of bots and link previews in user agents. A Cubot is a phone. */
const BOT = /(?<!cu)bot|crawl|spider|slurp|mediapartners|inspectiontool|facebookexternalhit|whatsapp|preview|embedly/i

/**
 * Authorizes a request from a shop's page or visitor. Checks, in this order: kill switch, limit by address, domains,
 * suspension, plan, the shop's switch, origin of a report. The limit per shop counts recorded clicks and page views.
 *
 * @throws ApiError 403, 404, 429 or 503.
 */
export async function authorizeSite(
  server: Server,
  { site }: Operation,
  { c, request }: { c: HonoContext; request: RequestState },
): Promise<SiteContext> {
  const { deps, limiter } = server
  const isReport = site === 'report'
  // Until its origin is refused, a page may read the reason of a rejection instead of seeing a network error.
  if (isReport) request.allowedOrigin = c.req.header('Origin')
  if (!(await server.apiSwitch.isOn())) throw apiDisabled()
  const byAddress = isReport ? await limiter.consume(`site:${request.address}`, ADDRESS_LIMIT) : undefined
  if (byAddress?.exceeded) throw rateLimited(byAddress)
  if (!isReport) await limitPublic(server, request)
  const recheck = async (db: Reader) => {
    const shop = await findSite(db, c)
    if (isReport) requireOrigin(shop, { c, request })
    return shop
  }
  const shop = await recheck(deps.db.read)
  request.caller = { shopId: shop.id }
  const { requestId, traceparent } = request
  const limit = () => limiter.consume(`site-shop:${shop.id}`, STORE_LIMIT_FACTOR * requirePlan({ shop }))
  const isCounted = async () => !isAutomatic(c) && isWithinLimits(server, { request, isReport, limit })
  return {
    ...deps,
    ...clockOf(deps, shop),
    shop,
    actor: 'site',
    requestId,
    traceparent,
    recheck,
    isCounted,
  }
}

/** A report above a limit is rejected. A link still leads to the shop, but records no click. */
async function isWithinLimits(
  { limiter }: Server,
  { request, isReport, limit }: { request: RequestState; isReport: boolean; limit: () => Promise<RateLimit> },
): Promise<boolean> {
  if (!isReport && (await limiter.consume(`site:${request.address}`, ADDRESS_LIMIT)).exceeded) return false
  const byShop = await limit()
  if (isReport && byShop.exceeded) throw rateLimited(byShop)
  return !byShop.exceeded
}

/**
 * The shop in the path. @throws ApiError 404 `tracking_off`, 403 `shop_suspended` or `plan_required`, 503
 * `api_disabled`.
 */
export async function findSite(db: Reader, c: HonoContext): Promise<ShopRow> {
  const shop = await findShop(db, toLookupText((c.req.param('shopId') ?? '').replace(/\.js$/, '')))
  if (!shop || sitesOf(shop).length === 0)
    throw notFound('tracking_off', 'Tracking is off. Check the ID of the shop, and siteDomains in its settings.')
  requirePlan({ shop })
  if (!shop.apiEnabled) throw apiDisabled()
  return shop
}

const sitesOf = ({ siteDomains }: ShopRow): string[] => JSON.parse(siteDomains)

/** Whether the request comes from a page of the shop. */
export const isFromSite = (shop: ShopRow, c: HonoContext): boolean =>
  sitesOf(shop).some((domain) => c.req.header('Origin') === `https://${domain}`)

function requireOrigin(shop: ShopRow, { c, request }: { c: HonoContext; request: RequestState }): void {
  if (isFromSite(shop, c)) return
  request.allowedOrigin = undefined
  throw forbidden(
    'origin_refused',
    'This page may not report to this shop. Add its host name to siteDomains in the settings of the shop.',
  )
}

/** Whether the request is automated: a bot, a HEAD request, a prefetch, or a link that a page loads as an image or a frame. */
const isAutomatic = (c: HonoContext): boolean =>
  c.req.method === 'HEAD' ||
  !['document', 'empty'].includes(c.req.header('Sec-Fetch-Dest') ?? 'empty') ||
  BOT.test(c.req.header('User-Agent') ?? '') ||
  ['Sec-Purpose', 'Purpose', 'X-Moz'].some((name) => /prefetch|preview|prerender/i.test(c.req.header(name) ?? ''))
