import { createHmac, type Hmac, timingSafeEqual } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { domainToASCII } from 'node:url'
import { ApiError, invalidField } from '../../contract/errors.ts'
import type { Deps } from '../../core/context.ts'
import type { Reader } from '../../database/database.ts'
import type { ShopRow } from '../../database/tables.ts'
import { findShop } from './queries.ts'

type Domains = Pick<ShopRow, 'storeDomain' | 'storeDomainAliases'>

const MAX_URL = 8192
const DOMAIN = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/

/** Normalizes a domain: lower case, ASCII, without a trailing dot. @throws ApiError 400 `invalid_body`. */
export function toDomain(name: string, text: string): string {
  const domain = domainToASCII(text.trim().replace(/\.$/, ''))
  // `domainToASCII` cuts off a path.
  if (!DOMAIN.test(domain) || isIPv4(domain) || /[/\\?#]/.test(text))
    throw invalidField('invalid_body', name, 'must be a domain like shop.example, not a URL or an IP address.')
  return domain
}

/** Rejects a notification whose header names another store. @throws ApiError 401 `store_domain_mismatch`. */
export function requireDomain({ storeDomain }: Domains, header: string | undefined): void {
  if (storeDomain !== null && header?.trim().toLowerCase() !== storeDomain) throw domainMismatch(header)
}

/**
 * Rejects an order whose payload contains another store's URL. The signature does not cover the header, so another
 * store's signed bytes can be sent with any header.
 *
 * @throws ApiError 401 `store_domain_mismatch`.
 */
export function requireSourceDomain(
  { storeDomain, storeDomainAliases }: Domains,
  url: string | null | undefined,
): void {
  if (storeDomain === null || !url) return
  const domain = hostnameOf(url)
  if (domain === storeDomain || JSON.parse(storeDomainAliases).includes(domain)) return
  throw domainMismatch(domain)
}

const hostnameOf = (url: string): string | undefined =>
  url.length <= MAX_URL && URL.canParse(url) ? new URL(url).hostname : undefined

function domainMismatch(domain = ''): ApiError {
  const named = DOMAIN.test(domain) ? domain : 'an unknown domain'
  return new ApiError(
    401,
    'store_domain_mismatch',
    `The notification comes from ${named}, not from the store of this shop. Check storeDomain and storeDomainAliases in its settings.`,
  )
}

export const boundOfStore = (shopId: string) => `store:${shopId}`

/** Encrypts the secret that a store signs notifications with, bound to its shop. */
export const sealStoreSecret = ({ vault }: Pick<Deps, 'vault'>, shopId: string, secret: string): string =>
  vault.seal(secret, boundOfStore(shopId))

/** Decrypts the secret; null when no encryption key fits. */
const openStoreSecret = ({ vault }: Pick<Deps, 'vault'>, shopId: string, sealed: string): string | null =>
  vault.open(sealed, boundOfStore(shopId))

/** A shop that accepts notifications, with their signing secret. Stripe can have several, separated by spaces. */
export interface Store {
  shop: ShopRow
  secret: string
}

/** The column that contains a store's signing secret. */
export type SecretColumn = 'storeWebhookSecret' | 'stripeWebhookSecret'

/** The shop with its secret. Undefined if it does not exist or accepts no notifications. */
export async function findStore(
  deps: Pick<Deps, 'vault'>,
  db: Reader,
  shopId: string,
  column: SecretColumn,
): Promise<Store | undefined> {
  const shop = await findShop(db, shopId)
  const sealed = shop?.[column]
  if (!shop || !sealed) return undefined
  const secret = openStoreSecret(deps, shop.id, sealed)
  return secret === null ? undefined : { shop, secret }
}

/** Computes a notification's expected signature from its bytes as they arrive. */
export const signatureHash = (secret: string): Hmac => createHmac('sha256', secret)

/** Compares signatures in constant time. */
export const isEqualSignature = (signature: Uint8Array, expected: Uint8Array): boolean =>
  signature.length === expected.length && timingSafeEqual(signature, expected)
