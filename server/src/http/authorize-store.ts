import type { Context as HonoContext } from 'hono'
import { ApiError, forbidden, rateLimited, storeSuspended } from '../contract/errors.ts'
import { clockOf, type StoreContext } from '../core/context.ts'
import type { Reader } from '../database/database.ts'
import type { ShopRow } from '../database/tables.ts'
import { findStore, isEqualSignature, requireDomain, type Store } from '../domains/accounts/store-connection.ts'
import { toLookupText } from './parse-request.ts'
import { requestLimit } from './rate-limit.ts'
import type { RequestState, Server } from './server.ts'

/** The store named by a notification whose signature is not verified yet, because the body has not been read. */
export interface UnverifiedStore extends Store {
  signature: Uint8Array
  /** `X-Shopify-Shop-Domain` */
  domain: string | undefined
}

/** Notifications per window and shop, as a multiple of the limit of one API key. */
export const STORE_LIMIT_FACTOR = 20

/** An HMAC-SHA256 in base64. */
const SIGNATURE = /^[A-Za-z0-9+/]{43}=$/

/**
 * Checks everything that does not need the body, so that no body is buffered for a shop that accepts no notifications.
 *
 * @throws ApiError 401 `store_signature_missing` or `store_signature_invalid`, even for a shop that does not exist.
 */
export async function identifyStore({ deps }: Server, c: HonoContext): Promise<UnverifiedStore> {
  const signature = c.req.header('X-Shopify-Hmac-Sha256')
  if (!signature) {
    throw new ApiError(
      401,
      'store_signature_missing',
      'The signature is missing. Send it in the header X-Shopify-Hmac-Sha256.',
    )
  }
  const store =
    SIGNATURE.test(signature) && (await findStore(deps, deps.db.read, toLookupText(c.req.param('shopId') ?? '')))
  if (!store) throw signatureInvalid()
  return { ...store, signature: Buffer.from(signature, 'base64'), domain: c.req.header('X-Shopify-Shop-Domain') }
}

/**
 * Authorizes a notification by the signature of its raw bytes, `expected`. Checks, in this order: signature, domain, suspension, plan, rate limit.
 * The kill switches disable `/api/v1` only.
 *
 * @throws ApiError 401 `store_signature_invalid` or `store_domain_mismatch`, 403 `plan_required`, 429 `rate_limited` or 503 `store_notifications_suspended`.
 */
export async function authorizeStore(
  { deps, limiter }: Server,
  store: UnverifiedStore,
  expected: Uint8Array,
  request: RequestState,
): Promise<StoreContext> {
  if (!isEqualSignature(store.signature, expected)) throw signatureInvalid()
  requireDomain(store.shop, store.domain)
  const limit = STORE_LIMIT_FACTOR * requirePlan(store.shop)
  const window = await limiter.consume(`store:${store.shop.id}`, limit)
  if (window.exceeded) throw rateLimited(window)
  const recheck = async (db: Reader) => {
    const now = await findStore(deps, db, store.shop.id)
    if (now?.secret !== store.secret) throw signatureInvalid()
    requireDomain(now.shop, store.domain)
    requirePlan(now.shop)
    return now.shop
  }
  const { requestId, traceparent } = request
  return { ...deps, ...clockOf(deps, store.shop), shop: store.shop, actor: 'store', requestId, traceparent, recheck }
}

/** The requests per window of an API key of an active shop with API access. */
function requirePlan(shop: ShopRow): number {
  if (shop.suspendedAt !== null) throw storeSuspended()
  const limit = requestLimit(shop)
  if (limit === undefined)
    throw forbidden(
      'plan_required',
      'The plan of this shop does not include store notifications. Upgrade to the Professional plan.',
    )
  return limit
}

const signatureInvalid = () =>
  new ApiError(
    401,
    'store_signature_invalid',
    'The signature does not match. Check the secret of store notifications in the settings of this shop.',
  )
