import type { IncomingMessage } from 'node:http'
import { type ApiError, invalid } from '../errors.ts'

export const malformed = () => invalid('request_malformed', 'This is not a valid HTTP request.')

export const requestTimeout = () =>
  invalid('request_timeout', 'The request did not arrive in time. Send its headers within 10 seconds.')

/** Headers that decide what a request may do or does. Two of them would be joined, or one of them ignored. */
const ONCE = new Set(['authorization', 'idempotency-key', 'x-csrf-token', 'last-event-id', 'origin', 'sec-fetch-site'])
const isOnce = (name: string): boolean => ONCE.has(name) || name.startsWith('x-shopify-')

/** Why a request is refused for its headers alone, which the parser let through. */
export function headerFault({ headers, rawHeaders, httpVersion }: IncomingMessage): ApiError | undefined {
  if (headers.host === undefined && httpVersion !== '1.0') return malformed()
  // Where the message ends would be a matter of opinion, between this server and a proxy before it.
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
