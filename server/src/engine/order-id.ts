import { withoutInvisible } from './text.ts'

/** Whitespace by its Unicode property, which `trim` knows but for U+0085, and control characters. */
const OUTER = /^[\s\p{White_Space}\p{Cc}]+|[\s\p{White_Space}\p{Cc}]+$/gu

/** Where orders come from: the prefix of their stored id. */
const SOURCES = ['api', 'shopify'] as const
type Source = (typeof SOURCES)[number]

/**
 * The form in which order ids are compared and stored: Unicode form NFC, nothing invisible, no outer whitespace or control
 * characters. Letter case counts. Normalized twice, because an invisible character may stand between a letter and its accent.
 */
export function orderKey(id: string): string {
  return withoutInvisible(id.normalize('NFC')).normalize('NFC').replace(OUTER, '')
}

/** The stored id of a caller's order, such as `api:1001`. */
export const storedOrderId = (source: Source, externalOrderId: string): string =>
  `${source}:${orderKey(externalOrderId)}`

/** A stored id in the form it is stored in now, however it is written. */
export function normalizedOrderId(orderId: string): string {
  const source = SOURCES.find((one) => orderId.startsWith(`${one}:`))
  return source ? storedOrderId(source, orderId.slice(source.length + 1)) : orderKey(orderId)
}

/** What a caller's text may name: the stored id itself, which wins, else the order of each source. */
export function storedOrderIds(text: string): { exact: string[]; bySource: string[] } {
  const exact = [...new Set([text, normalizedOrderId(text)])]
  return { exact, bySource: SOURCES.map((source) => storedOrderId(source, text)) }
}
