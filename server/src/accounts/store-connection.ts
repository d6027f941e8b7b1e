import { createHmac, timingSafeEqual } from 'node:crypto'
import { domainToASCII } from 'node:url'
import { ApiError, invalidBody } from '../contract/errors.ts'
import type { Deps } from '../core/context.ts'
import type { Reader } from '../database/database.ts'
import type { ShopRow } from '../database/tables.ts'
import { findShop } from './queries.ts'

type Domains = Pick<ShopRow, 'storeDomain' | 'storeDomainAliases'>

const MAX_URL = 8192
const DOMAIN = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/

/** A domain as it is compared: in lower case, in ASCII, without a trailing dot. @throws ApiError 400 `invalid_body`. */
export function toDomain(name: string, text: string): string {
  const domain = domainToASCII(text.trim().replace(/\.$/, ''))
  if (!DOMAIN.test(domain)) throw invalidBody(`${name} must be a domain, like hats.myshopify.com.`)
  return domain
}

/** Rejects a notification of another store, by its header. @throws ApiError 401 `store_domain_mismatch`. */
export function requireDomain({ storeDomain }: Domains, header: string | undefined): void {
  if (storeDomain !== null && header?.trim().toLowerCase() !== storeDomain) throw domainMismatch(header)
}

/**
 * Rejects an order of another store, by an address in its payload: the header is not signed, so whoever holds signed bytes
 * of another store can send them with any header.
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
    `The notification is of ${named}, not of the store of this shop; compare storeDomain and storeDomainAliases in its settings.`,
  )
}

const sealContext = (shopId: string) => `store:${shopId}`

/** The secret that a store signs its notifications with, as it is stored: sealed, and tied to its shop. */
export const sealStoreSecret = ({ vault }: Pick<Deps, 'vault'>, shopId: string, secret: string): string =>
  vault.seal(secret, sealContext(shopId))

/** The secret again; null when no encryption key opens it. */
export const openStoreSecret = ({ vault }: Pick<Deps, 'vault'>, shopId: string, sealed: string): string | null =>
  vault.open(sealed, sealContext(shopId))

/** A shop that takes notifications, with the secret that they are signed with. */
export interface Store {
  shop: ShopRow
  secret: string
}

/** The shop as `db` sees it; undefined when it does not exist or takes no notifications. */
export async function findStore(deps: Pick<Deps, 'vault'>, db: Reader, shopId: string): Promise<Store | undefined> {
  const shop = await findShop(db, shopId)
  if (!shop?.storeWebhookSecret) return undefined
  const secret = openStoreSecret(deps, shop.id, shop.storeWebhookSecret)
  return secret === null ? undefined : { shop, secret }
}

/** Whether the signature is that of the bytes; compared in constant time. */
export function isSigned(bytes: Uint8Array, { secret, signature }: { secret: string; signature: Uint8Array }): boolean {
  const expected = createHmac('sha256', secret).update(bytes).digest()
  return signature.length === expected.length && timingSafeEqual(signature, expected)
}
