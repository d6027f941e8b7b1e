import type { Order } from './facts.ts'

/** Characters that a URL parser would not treat as part of a host name. */
const NOT_A_HOST = /[\s\p{Cc}/?#@:%\\[\]]/u
/** The dots allowed in internationalized domain names, and whitespace after one. */
const TRAILING_DOTS = /[.\u3002\uff0e\uff61\s]+$/

/**
 * The form in which email addresses are compared for uniqueness, connections and lookups: trimmed, Unicode form NFC,
 * lower case, ASCII domain without a trailing dot.
 */
export function emailKey(email: string): string {
  // Normalized again, because some letters and accents compose in lower case only.
  const address = email.trim().normalize('NFC').toLowerCase().normalize('NFC')
  const at = address.lastIndexOf('@')
  return at < 0 ? address : address.slice(0, at + 1) + domainKey(address.slice(at + 1))
}

function domainKey(domain: string): string {
  const name = domain.replace(TRAILING_DOTS, '')
  if (/^[\0-\x7f]*$/.test(name) || NOT_A_HOST.test(name)) return name
  const url = `http://${name}`
  const host = URL.canParse(url) ? new URL(url).hostname.replace(TRAILING_DOTS, '') : name
  // A numeric name would be parsed as an IPv4 address.
  return /(^|\.)\d+$/.test(host) ? name : host
}

/**
 * The mailbox behind an address, to detect self-referral: {@link emailKey} without display name, comments, quotes, plus
 * tag, invisible characters, compatibility forms, Gmail's dots and Gmail's alias domain.
 */
export function mailboxKey(email: string): string {
  const text = withoutInvisible(compatible(email))
  const address = emailKey(bareAddress(/<([^<>]*@[^<>]*)>/.exec(text)?.[1] ?? text))
  const at = address.lastIndexOf('@')
  if (at < 0) return address
  const domain = address.slice(at + 1)
  const plus = address.indexOf('+')
  const local = address.slice(0, plus > 0 && plus < at ? plus : at)
  const isGmail = domain === 'gmail.com' || domain === 'googlemail.com'
  return isGmail ? `${local.replaceAll('.', '')}@gmail.com` : `${local}@${domain}`
}

/** Lower case first, as in {@link emailKey}: the compatible forms of `Ϲ` and `ϲ` are different letters. */
const compatible = (text: string): string => text.normalize('NFC').toLowerCase().normalize('NFKC')

/**
 * The mailboxes of every address in a text, since a mail program may deliver to any of them:
 * `x@example.com, own@example.com` names two.
 */
export function mailboxKeys(text: string): string[] {
  const addresses = compatible(text)
    .split(/[\s<>,;"]/)
    .filter((part) => part.includes('@'))
  return [...new Set([text, ...addresses].map(mailboxKey))].filter((key) => key !== '')
}

/** Removes what mail programs ignore around an address: comments in parentheses, a leading `mailto:`, trailing separators. */
function bareAddress(text: string): string {
  let bare = text
  for (let before = ''; before !== bare; ) {
    before = bare
    bare = bare.replace(/\([^()]*\)/g, '')
  }
  const [first = ''] = bare.replace(/^\s*mailto:/i, '').split(/[;,]\s*(?=$|\S+@)/)
  return first.replace(/\s*@\s*/, '@').replace(/^\s*"([^"\s]+)"@/, '$1@')
}

/** Restores `+` before an `@` in query text, where an unencoded one arrives as a space. */
export function restorePlusSigns(text: string): string {
  return text.trim().replace(/ (?=.*@)/g, '+')
}

/** The keys an address from a query string may be stored under: as received, or with spaces read as `+`. */
export function emailKeysFromQuery(text: string): string[] {
  return [...new Set([text, restorePlusSigns(text)].map(emailKey))]
}

/** Leading and trailing control characters and whitespace, including U+0085, which `trim` keeps. */
const OUTER_WHITESPACE = /^[\s\p{White_Space}\p{Cc}]+|[\s\p{White_Space}\p{Cc}]+$/gu

/** The sources of orders: the prefix of their stored id. */
export const ORDER_SOURCES = ['api', 'shopify', 'stripe'] as const
export type OrderSource = (typeof ORDER_SOURCES)[number]

/**
 * The form in which order ids and names are compared and stored: Unicode form NFC, case-sensitive, without invisible
 * characters and without whitespace or control characters at the start, at the end, and after a leading `#`. Normalized
 * twice, because an invisible character may separate a letter from its accent.
 */
export function orderKey(text: string): string {
  const key = withoutInvisible(text.normalize('NFC')).normalize('NFC').replace(OUTER_WHITESPACE, '')
  return key.startsWith('#') ? `#${key.slice(1).replace(OUTER_WHITESPACE, '')}` : key
}

/** The stored id of a caller's order, such as `api:1001`. */
export const storedOrderId = (source: OrderSource, externalOrderId: string): string =>
  `${source}:${orderKey(externalOrderId)}`

/** What stores and their integrations put before the id or the name of an order. */
const SPELLINGS = ['', '#', 'gid://shopify/Order/']

/** The spellings of an order's id and name in any source. */
export function orderSpellings(externalOrderId: string, orderName: string | null): string[] {
  const texts = [externalOrderId, orderName ?? ''].map((text) =>
    orderKey(text).replace(/^(#|gid:\/\/shopify\/Order\/)/, ''),
  )
  return [...new Set(texts)].filter((text) => text !== '').flatMap((text) => SPELLINGS.map((before) => before + text))
}

/** The stored ids that a text names in other sources than an order's own. */
export const idsInOtherSources = (orderId: string, text: string): string[] =>
  ORDER_SOURCES.filter((source) => !orderId.startsWith(`${source}:`)).map((source) => storedOrderId(source, text))

/** Normalizes a stored ID. */
function normalizeOrderId(orderId: string): string {
  const source = ORDER_SOURCES.find((orderSource) => orderId.startsWith(`${orderSource}:`))
  return source ? storedOrderId(source, orderId.slice(source.length + 1)) : orderKey(orderId)
}

/** The stored ids that a caller's text may refer to: the stored id itself, which takes precedence, or one per source. */
export function storedOrderIds(text: string): { exact: string[]; bySource: string[] } {
  const exact = [...new Set([text, normalizeOrderId(text)])]
  return { exact, bySource: ORDER_SOURCES.map((source) => storedOrderId(source, text)) }
}

/** The text without leading and trailing whitespace; null when nothing is left. */
export function trimToNull(value: string | null | undefined): string | null {
  return value?.trim() || null
}

export const namesCustomer = ({ customerId, customerEmail }: Pick<Order, 'customerId' | 'customerEmail'>): boolean =>
  trimToNull(customerId) !== null || trimToNull(customerEmail) !== null

/** Removes invisible characters: zero-width characters, joiners, direction marks, variation selectors, soft hyphens. */
export function withoutInvisible(text: string): string {
  return text.replace(/\p{Default_Ignorable_Code_Point}/gu, '')
}

const CANCELED = ':canceled'

/** The id of the entry that cancels a refund. Reserved: no refund has such an id. */
export const cancellationIdOf = (refundId: string): string => `${refundId}${CANCELED}`

/** The refund that an entry cancels; undefined for a refund. */
export const canceledRefundOf = (externalRefundId: string): string | undefined =>
  externalRefundId.endsWith(CANCELED) ? externalRefundId.slice(0, -CANCELED.length) : undefined

/** The domain of the addresses that replace erased ones: it never receives mail. */
export const ERASED_DOMAIN = 'erased.invalid'

/** Whether an address replaces one that was erased. */
export const isErasedAddress = (email: string): boolean => email.endsWith(`@${ERASED_DOMAIN}`)
