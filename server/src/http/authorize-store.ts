import type { Context as HonoContext } from 'hono'
import { forbidden, rateLimited, storeSuspended } from '../contract/errors.ts'
import { clockOf, type StoreContext } from '../core/context.ts'
import type { Reader } from '../database/database.ts'
import type { ShopRow } from '../database/tables.ts'
import { findStore, isEqualSignature, signatureHash } from '../domains/accounts/store-connection.ts'
import type { StoreSignature } from '../domains/stores/store.ts'
import { toLookupText } from './parse-request.ts'
import { requestLimit } from './rate-limit.ts'
import type { BodyHash } from './read-body.ts'
import type { RequestState, Server } from './server.ts'

/** A notification whose signature is not verified yet, because the body has not been read. */
interface UnverifiedStore {
  shop: ShopRow
  /** Updated with the body's bytes as they arrive. */
  hash: BodyHash
  /** @throws ApiError if the signature does not cover the body, or the notification is from another store. */
  verify: () => void
  /** The shop as of now. @throws ApiError if its secret or domain was changed. */
  reread: (db: Reader) => Promise<ShopRow>
}

/** Notifications per window and shop, as a multiple of one API key's limit. */
export const STORE_LIMIT_FACTOR = 20

/**
 * Checks everything that does not need the body, so that no body is buffered for a shop that accepts no notifications.
 *
 * @throws ApiError about the store's signature, even for a shop that does not exist.
 */
export async function identifyStore(
  { deps }: Server,
  c: HonoContext,
  { column, secretsOf, read, invalid, requireSource }: StoreSignature,
): Promise<UnverifiedStore> {
  const header = (name: string) => c.req.header(name)
  const received = read(header, deps.now())
  const shopId = toLookupText(c.req.param('shopId') ?? '')
  const store = received && (await findStore(deps, deps.db.read, shopId, column))
  if (!store) throw invalid()
  const { shop, secret } = store
  const hashes = secretsOf(secret).map(signatureHash)
  for (const hash of hashes) hash.update(received.prefix)
  return {
    shop,
    hash: {
      update: (bytes) => {
        for (const hash of hashes) hash.update(bytes)
      },
    },
    verify: () => {
      const digests = hashes.map((hash) => hash.digest())
      if (!digests.some((digest) => received.signatures.some((signature) => isEqualSignature(signature, digest))))
        throw invalid()
      requireSource?.(shop, header)
    },
    reread: async (db) => {
      const now = await findStore(deps, db, shop.id, column)
      if (now?.secret !== secret) throw invalid()
      requireSource?.(now.shop, header)
      return now.shop
    },
  }
}

/**
 * Authorizes a notification after hashing its body. Checks, in this order: signature, domain, suspension, plan, rate
 * limit. The kill switches disable only `/api/v1`.
 *
 * @throws ApiError about the store's signature, 403 `plan_required`, 429 `rate_limited` or 503
 * `store_notifications_suspended`.
 */
export async function authorizeStore(
  { deps, limiter }: Server,
  { shop, verify, reread }: UnverifiedStore,
  { requestId, traceparent }: RequestState,
): Promise<StoreContext> {
  verify()
  const limit = STORE_LIMIT_FACTOR * requirePlan(shop)
  const window = await limiter.consume(`store:${shop.id}`, limit)
  if (window.exceeded) throw rateLimited(window)
  const recheck = async (db: Reader) => {
    const now = await reread(db)
    requirePlan(now)
    return now
  }
  return { ...deps, ...clockOf(deps, shop), shop, actor: 'store', requestId, traceparent, recheck }
}

/** The requests per window for an API key of an active shop with API access. */
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
