import type { Context as HonoContext } from 'hono'
import { ApiError, forbidden, invalid, rateLimited, storeSuspended } from '../contract/errors.ts'
import { clockOf, type StoreContext } from '../core/context.ts'
import type { Reader } from '../database/database.ts'
import type { ShopRow } from '../database/tables.ts'
import { findStore, isEqualSignature, requireDomain, signatureHash } from '../domains/accounts/store-connection.ts'
import { toLookupText } from './parse-request.ts'
import { requestLimit } from './rate-limit.ts'
import type { BodyHash } from './read-body.ts'
import type { RequestState, Server } from './server.ts'

/** A notification whose signature is not verified yet, because the body has not been read. */
export interface UnverifiedStore {
  shop: ShopRow
  /** Updated with the bytes of the body as they arrive. */
  hash: BodyHash
  /** @throws ApiError when the signature does not cover the body, or the notification is of another store. */
  verify: () => void
  /** The shop as it is now. @throws ApiError when its secret or domain was changed. */
  reread: (db: Reader) => Promise<ShopRow>
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
export async function identifyShopify({ deps }: Server, c: HonoContext): Promise<UnverifiedStore> {
  const signature = c.req.header('X-Shopify-Hmac-Sha256')
  if (!signature) {
    throw new ApiError(
      401,
      'store_signature_missing',
      'The signature is missing. Send it in the header X-Shopify-Hmac-Sha256.',
    )
  }
  const shopId = toLookupText(c.req.param('shopId') ?? '')
  const store = SIGNATURE.test(signature) && (await findStore(deps, deps.db.read, shopId))
  if (!store) throw signatureInvalid()
  const { shop, secret } = store
  const domain = c.req.header('X-Shopify-Shop-Domain')
  const hash = signatureHash(secret)
  return {
    shop,
    hash,
    verify: () => {
      if (!isEqualSignature(Buffer.from(signature, 'base64'), hash.digest())) throw signatureInvalid()
      requireDomain(shop, domain)
    },
    reread: async (db) => {
      const now = await findStore(deps, db, shop.id)
      if (now?.secret !== secret) throw signatureInvalid()
      requireDomain(now.shop, domain)
      return now.shop
    },
  }
}

const STRIPE_TOLERANCE_MS = 300_000
const MAX_STRIPE_SIGNATURES = 5

/**
 * Like {@link identifyShopify}. The shop may have several secrets, and Stripe signs with several during a rotation.
 *
 * @throws ApiError 400 `stripe_signature_invalid`, even for a shop that does not exist.
 */
export async function identifyStripe({ deps }: Server, c: HonoContext): Promise<UnverifiedStore> {
  const parts = (c.req.header('Stripe-Signature') ?? '').split(',').map((part) => part.trim().split('='))
  const time = parts.find(([name]) => name === 't')?.[1] ?? ''
  const signatures = parts
    .filter(([name, value = '']) => name === 'v1' && /^[0-9a-f]{64}$/.test(value))
    .slice(0, MAX_STRIPE_SIGNATURES)
    .map(([, value = '']) => Buffer.from(value, 'hex'))
  const isRecent = /^\d{1,12}$/.test(time) && Math.abs(deps.now() - Number(time) * 1000) <= STRIPE_TOLERANCE_MS
  const shopId = toLookupText(c.req.param('shopId') ?? '')
  const store =
    isRecent && signatures.length > 0 && (await findStore(deps, deps.db.read, shopId, 'stripeWebhookSecret'))
  if (!store) throw stripeSignatureInvalid()
  const { shop, secret } = store
  const hashes = secret.split(/\s+/).map(signatureHash)
  for (const hash of hashes) hash.update(`${time}.`)
  return {
    shop,
    hash: {
      update: (bytes) => {
        for (const hash of hashes) hash.update(bytes)
      },
    },
    verify: () => {
      const digests = hashes.map((hash) => hash.digest())
      if (!digests.some((digest) => signatures.some((signature) => isEqualSignature(signature, digest))))
        throw stripeSignatureInvalid()
    },
    reread: async (db) => {
      const now = await findStore(deps, db, shop.id, 'stripeWebhookSecret')
      if (now?.secret !== secret) throw stripeSignatureInvalid()
      return now.shop
    },
  }
}

/**
 * Authorizes a notification after its body was hashed. Checks, in this order: signature, domain, suspension, plan, rate
 * limit. The kill switches disable `/api/v1` only.
 *
 * @throws ApiError of the store's signature, 403 `plan_required`, 429 `rate_limited` or 503 `store_notifications_suspended`.
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

const stripeSignatureInvalid = () =>
  invalid(
    'stripe_signature_invalid',
    'The Stripe-Signature header is missing, older than 300 seconds, or matches no secret. Check stripeWebhookSecret in the settings of this shop.',
  )
