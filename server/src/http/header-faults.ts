import type { IncomingMessage } from 'node:http'
import { type ApiError, invalid } from '../errors.ts'

export const malformed = () => invalid('request_malformed', 'This is not a valid HTTP request.')

export const requestTimeout = () =>
  invalid('request_timeout', 'The request did not arrive in time. Send its headers within 10 seconds.')

/** Headers that decide what a request does or may do. A second one would be joined to the first, or ignored. */
const ONCE = new Set(['authorization', 'idempotency-key', 'x-csrf-token', 'last-event-id', 'origin', 'sec-fetch-site'])
const isOnce = (name: string): boolean => ONCE.has(name) || name.startsWith('x-shopify-')

/** Returns the error for headers that Node's parser accepts and this server does not. */
export function headerFault({ headers, rawHeaders, httpVersion }: IncomingMessage): ApiError | undefined {
  if (headers.host === undefined && httpVersion !== '1.0') return malformed()
  // A proxy may disagree about where the message ends, which allows request smuggling.
  if (headers['transfer-encoding'] !== undefined) {
    if (httpVersion === '1.0' || headers['content-length'] !== undefined) return malformed()
  }
  const repeated = repeatedHeader(rawHeaders)
  if (repeated === undefined) return undefined
  if (repeated.toLowerCase() === 'host') return malformed()
  return invalid('header_repeated', `Send the header ${repeated} only once.`)
}

function repeatedHeader(rawHeaders: string[]): string | undefined {
  const seen: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    if (name !== 'host' && !isOnce(name)) continue
    if (seen.includes(name)) return rawHeaders[i]
    seen.push(name)
  }
  return undefined
}
