import { type IncomingMessage, STATUS_CODES } from 'node:http'
import { type ApiError, invalid } from '../contract/errors.ts'
import type { Deps } from '../core/context.ts'
import { clientNetwork, outermost } from './client-address.ts'
import { NOSNIFF } from './page-headers.ts'
import { ADDRESS_LIMIT, type RateLimiter, windowHeaders } from './rate-limit.ts'
import { requestIdOf } from './request-id.ts'

/** What refusing needs to know of the server. */
export interface Known extends Pick<Deps, 'newId' | 'log'> {
  config: Pick<Deps['config'], 'trustProxy'>
  limiter: RateLimiter
}

/** What could be read of a request that is none. */
export interface Read {
  /** What it is for, as it stood there. */
  target?: string | undefined
  socket?: string | undefined
  forwardedFor?: string | undefined
}

export const readFrom = ({ url, socket, headers }: IncomingMessage): Read => ({
  target: url,
  socket: socket.remoteAddress,
  forwardedFor: [headers['x-forwarded-for']].flat().join(),
})

/** The refusal as an answer of the app. Closes the connection, because it is not certain where the next request begins. */
export async function refuse(known: Known, error: ApiError, read: Read): Promise<Response> {
  const headers = { ...(await headersOf(known, error, read)), Connection: 'close' }
  return Response.json({ error: error.message }, { status: error.status, headers })
}

/** The refusal as it goes over the wire. */
export async function rawRefusal(known: Known, error: ApiError, read: Read): Promise<string> {
  const body = JSON.stringify({ error: error.message })
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    ...(error.status === 405 && { Allow: '' }),
    ...(await headersOf(known, error, read)),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`
}

const OF_THE_API = /^(https?:\/\/[^/]*)?\/api\/v1\//i

async function headersOf(known: Known, { code, status }: ApiError, read: Read): Promise<Record<string, string>> {
  const requestId = requestIdOf(undefined, known)
  known.log.info({ requestId, status, code }, 'request')
  const usual = { 'X-Request-Id': requestId, 'X-Error-Code': code, ...NOSNIFF }
  if (!OF_THE_API.test(read.target ?? '')) return usual
  // Nobody looked at a key, so it is the window of the address, looked at without counting as for an unknown path.
  const address = clientNetwork(outermost(read, known.config.trustProxy))
  return { ...usual, ...windowHeaders(await known.limiter.peek(`address:${address}`, ADDRESS_LIMIT)) }
}

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
