import { domainToASCII } from 'node:url'
import type { ShopRow } from '../db/tables.ts'
import { ApiError, invalidBody } from '../errors.ts'

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
export function requireDomainOf({ storeDomain, storeDomainAliases }: Domains, url: string | null | undefined): void {
  if (storeDomain === null || !url) return
  const domain = hostOf(url)
  if (domain === storeDomain || JSON.parse(storeDomainAliases).includes(domain)) return
  throw domainMismatch(domain)
}

const hostOf = (url: string): string | undefined =>
  url.length <= MAX_URL && URL.canParse(url) ? new URL(url).hostname : undefined

function domainMismatch(domain = ''): ApiError {
  const named = DOMAIN.test(domain) ? domain : 'an unknown domain'
  return new ApiError(
    401,
    'store_domain_mismatch',
    `The notification is of ${named}, not of the store of this shop; compare storeDomain and storeDomainAliases in its settings.`,
  )
}
