import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Deps } from '../context.ts'
import type { ApiError } from '../errors.ts'
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
