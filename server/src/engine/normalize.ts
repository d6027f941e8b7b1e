/** What a URL parser would read as something other than a host name. */
const NOT_A_HOST = /[\s\p{Cc}/?#@:%\\[\]]/u
/** The dots that internationalized domain names may be written with, and whitespace that follows one. */
const TRAILING_DOTS = /[.\u3002\uff0e\uff61\s]+$/

/**
 * The form in which e-mail addresses are compared for uniqueness, connections and look-ups: trimmed, Unicode form NFC,
 * lower case, an ASCII domain without a dot at its end.
 */
export function emailKey(email: string): string {
  // Normalized again: some letters and their accents compose in lower case only.
  const address = email.trim().normalize('NFC').toLowerCase().normalize('NFC')
  const at = address.lastIndexOf('@')
  return at < 0 ? address : address.slice(0, at + 1) + domainKey(address.slice(at + 1))
}

function domainKey(domain: string): string {
  const name = domain.replace(TRAILING_DOTS, '')
  if (/^[\0-\x7f]*$/.test(name) || NOT_A_HOST.test(name)) return name
  const url = `http://${name}`
  const host = URL.canParse(url) ? new URL(url).hostname.replace(TRAILING_DOTS, '') : name
  // A number would come back as an IPv4 address.
  return /(^|\.)\d+$/.test(host) ? name : host
}

/**
 * The mailbox behind an address, to recognize an affiliate who is the buyer: like {@link emailKey}, and without display
 * name, comments, quotes, plus tag, the dots of Gmail, the alias domain of Gmail, invisible characters and compatibility forms.
 */
export function mailboxKey(email: string): string {
  const text = withoutInvisible(email.normalize('NFKC'))
  const address = emailKey(bareAddress(/<([^<>]*@[^<>]*)>/.exec(text)?.[1] ?? text))
  const at = address.lastIndexOf('@')
  if (at < 0) return address
  const domain = address.slice(at + 1)
  const plus = address.indexOf('+')
  const local = address.slice(0, plus > 0 && plus < at ? plus : at)
  const isGmail = domain === 'gmail.com' || domain === 'googlemail.com'
  return isGmail ? `${local.replaceAll('.', '')}@gmail.com` : `${local}@${domain}`
}

/** Comments in parentheses, a `mailto:` in front, and separators behind: what mail programs ignore around an address. */
function bareAddress(text: string): string {
  let bare = text
  for (let before = ''; before !== bare; ) {
    before = bare
    bare = bare.replace(/\([^()]*\)/g, '')
  }
  const [first = ''] = bare.replace(/^\s*mailto:/i, '').split(/[;,]\s*(?=$|\S+@)/)
  return first.replace(/\s*@\s*/, '@').replace(/^\s*"([^"\s]+)"@/, '$1@')
}

/** A text from a query string in which the spaces before an `@` were meant as `+`: an unencoded one arrives as a space. */
export function restorePlusSigns(text: string): string {
  return text.trim().replace(/ (?=.*@)/g, '+')
}

/** What an address from a query string may be stored as: as it arrived, or with its spaces meant as `+`. */
export function emailKeysFromQuery(text: string): string[] {
  return [...new Set([text, restorePlusSigns(text)].map(emailKey))]
}

/** Whitespace by its Unicode property, which `trim` knows but for U+0085, and control characters. */
const OUTER_WHITESPACE = /^[\s\p{White_Space}\p{Cc}]+|[\s\p{White_Space}\p{Cc}]+$/gu

/** Where orders come from: the prefix of their stored id. */
const ORDER_SOURCES = ['api', 'shopify'] as const
type OrderSource = (typeof ORDER_SOURCES)[number]

/**
 * The form in which order ids are compared and stored: Unicode form NFC, nothing invisible, no outer whitespace or control
 * characters. Letter case counts. Normalized twice, because an invisible character may stand between a letter and its accent.
 */
export function orderKey(id: string): string {
  return withoutInvisible(id.normalize('NFC')).normalize('NFC').replace(OUTER_WHITESPACE, '')
}

/** The stored id of a caller's order, such as `api:1001`. */
export const storedOrderId = (source: OrderSource, externalOrderId: string): string =>
  `${source}:${orderKey(externalOrderId)}`

/** A stored id in the form it is stored in now, however it is written. */
export function normalizeOrderId(orderId: string): string {
  const source = ORDER_SOURCES.find((one) => orderId.startsWith(`${one}:`))
  return source ? storedOrderId(source, orderId.slice(source.length + 1)) : orderKey(orderId)
}

/** What a caller's text may name: the stored id itself, which wins, else the order of each source. */
export function storedOrderIds(text: string): { exact: string[]; bySource: string[] } {
  const exact = [...new Set([text, normalizeOrderId(text)])]
  return { exact, bySource: ORDER_SOURCES.map((source) => storedOrderId(source, text)) }
}

/** The text without leading and trailing whitespace; null when nothing is left. */
export function trimToNull(value: string | null | undefined): string | null {
  return value?.trim() || null
}

/** Without what cannot be seen: zero-width characters, joiners, direction marks, variation selectors, soft hyphens. */
export function withoutInvisible(text: string): string {
  return text.replace(/\p{Default_Ignorable_Code_Point}/gu, '')
}
