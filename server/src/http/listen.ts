import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { ApiError, invalid } from '../contract/errors.ts'
import type { Deps } from '../core/context.ts'
import { clientNetwork, resolveAddress } from './client-address.ts'
import { ADDRESS_LIMIT, type RateLimiter, rateLimitHeaders } from './rate-limit.ts'
import { NOSNIFF } from './response.ts'
import { resolveRequestId } from './server.ts'

type Fetch = Parameters<typeof getRequestListener>[0]

export interface ListenerOptions {
  /** How long the headers of a request may take to arrive. */
  headersTimeoutMs?: number
  /** How long a client may read nothing of a response that waits for it. */
  stallTimeoutMs?: number
}

const HEADERS_TIMEOUT_MS = 10_000
/** More than headers and body may take together; what sends a body that nobody reads is cut off then. */
const REQUEST_TIMEOUT_MS = 60_000

/** A client that reads nothing for so long must not hold on to its response, nor to its event stream. */
const STALL_TIMEOUT_MS = 60_000

/** The app on a socket. What is too broken to become a request is refused as everything else is: JSON and a request id. */
export function createListener(
  fetch: Fetch,
  known: ListenerDependencies,
  { headersTimeoutMs = HEADERS_TIMEOUT_MS, stallTimeoutMs = STALL_TIMEOUT_MS }: ListenerOptions = {},
): Server {
  let reading: IncomingMessage
  const rejectRequest = (incoming: IncomingMessage, error: ApiError) =>
    rejectedResponse(known, error, partialRequestOf(incoming))
  const answer = getRequestListener(
    (request, env) => {
      const incoming = env.incoming as IncomingMessage
      const fault = headerError(incoming)
      return fault ? rejectRequest(incoming, fault) : fetch(request, env)
    },
    // What cannot be made a request fails at once, before another one is read.
    { hostname: 'localhost', errorHandler: () => rejectRequest(reading, malformed()) },
  )
  const options = {
    // Node would answer a missing Host with nothing at all.
    requireHostHeader: false,
    headersTimeout: headersTimeoutMs,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
  }
  const server = createServer(options, (incoming, outgoing) => {
    reading = incoming
    return answer(incoming, outgoing)
  })
  // A request may take longer than that; what counts is that something waits to be read.
  server.setTimeout(stallTimeoutMs, (socket: Socket) => void (socket.writableLength > 0 && socket.destroy()))
  server.on('clientError', (error: ParserError, socket) => void rejectSocket(known, error, socket))
  // Nobody is led on to elsewhere. Node would hang up.
  server.on('connect', (_incoming, socket) => void rejectSocket(known, connectNotAllowed(), socket))
  // An expectation that nobody knows is no reason to refuse (RFC 9110, section 10.1.1).
  server.on('checkExpectation', (incoming, outgoing) => void server.emit('request', incoming, outgoing))
  return server
}

/** As Node tells what it could not read, with the bytes that came last. */
type ParserError = NodeJS.ErrnoException & { rawPacket?: Buffer }

/** As Node knows a socket by itself: with the answer that is under way on it. */
type HttpSocket = Duplex & { _httpMessage?: ServerResponse | null; remoteAddress?: string }

const connectNotAllowed = () => new ApiError(405, 'method_not_allowed', 'CONNECT is not allowed here.')

/**
 * Nothing could be read that an answer could be built on, so it is written as it goes over the wire. It must not be taken
 * for the answer of a request before it, which was read whole and may have changed something: that one comes first.
 */
async function rejectSocket(
  known: ListenerDependencies,
  error: ParserError | ApiError,
  socket: HttpSocket,
): Promise<void> {
  const underWay = socket._httpMessage
  if (underWay?.req.complete)
    return void underWay.once('finish', () => void rejectSocket(known, AFTER_COMPLETE_REQUEST, socket))
  // The client has gone, has had its answer, or is about to have one that this would break.
  const isTooLate = () => !socket.writable || underWay?.headersSent
  if (error.code === 'ECONNRESET' || error === AFTER_COMPLETE_REQUEST || isTooLate()) return void socket.destroy()
  const refusal = error instanceof ApiError ? error : parserErrorOf(error)
  const text = await rejectedResponseText(known, refusal, partialRequestOfSocket(error, socket))
  if (isTooLate()) return void socket.destroy()
  socket.end(text, () => socket.destroy())
}

const parserErrorOf = ({ code }: ParserError): ApiError =>
  code === 'ERR_HTTP_REQUEST_TIMEOUT' ? requestTimeout() : malformed()

/** What can be told: the path stands in the request that broke off, or where the bytes begin. */
function partialRequestOfSocket(
  error: ParserError | ApiError,
  { _httpMessage: underWay, remoteAddress }: HttpSocket,
): PartialRequest {
  if (underWay) return partialRequestOf(underWay.req)
  const bytes = 'rawPacket' in error ? error.rawPacket : undefined
  return { target: bytes?.toString('latin1', 0, 300).split(' ', 2)[1], socket: remoteAddress }
}

const AFTER_COMPLETE_REQUEST: ParserError = new Error('Behind a whole request came something that is none')

/** What refusing needs to know of the server. */
export interface ListenerDependencies extends Pick<Deps, 'newId' | 'log'> {
  config: Pick<Deps['config'], 'trustProxy'>
  limiter: RateLimiter
}

/** What could be read of a request that is none. */
export interface PartialRequest {
  /** What it is for, as it stood there. */
  target?: string | undefined
  socket?: string | undefined
  forwardedFor?: string | undefined
}

export const partialRequestOf = ({ url, socket, headers }: IncomingMessage): PartialRequest => ({
  target: url,
  socket: socket.remoteAddress,
  forwardedFor: [headers['x-forwarded-for']].flat().join(),
})

/** The refusal as an answer of the app. Closes the connection, because it is not certain where the next request begins. */
export async function rejectedResponse(
  known: ListenerDependencies,
  error: ApiError,
  read: PartialRequest,
): Promise<Response> {
  const headers = { ...(await rejectionHeaders(known, error, read)), Connection: 'close' }
  return Response.json({ error: error.message }, { status: error.status, headers })
}

/** The refusal as it goes over the wire. */
export async function rejectedResponseText(
  known: ListenerDependencies,
  error: ApiError,
  read: PartialRequest,
): Promise<string> {
  const body = JSON.stringify({ error: error.message })
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    ...(error.status === 405 && { Allow: '' }),
    ...(await rejectionHeaders(known, error, read)),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`
}

const API_TARGET = /^(https?:\/\/[^/]*)?\/api\/v1\//i

async function rejectionHeaders(
  known: ListenerDependencies,
  { code, status }: ApiError,
  read: PartialRequest,
): Promise<Record<string, string>> {
  const requestId = resolveRequestId(undefined, known)
  known.log.info({ requestId, status, code }, 'request')
  const usual = { 'X-Request-Id': requestId, 'X-Error-Code': code, ...NOSNIFF }
  if (!API_TARGET.test(read.target ?? '')) return usual
  // Nobody looked at a key, so it is the window of the address, looked at without counting as for an unknown path.
  const address = clientNetwork(resolveAddress(read, known.config.trustProxy))
  return { ...usual, ...rateLimitHeaders(await known.limiter.peek(`address:${address}`, ADDRESS_LIMIT)) }
}

export const malformed = () => invalid('request_malformed', 'This is not a valid HTTP request.')

export const requestTimeout = () =>
  invalid('request_timeout', 'The request did not arrive in time. Send its headers within 10 seconds.')

/** Headers that decide what a request does or may do. A second one would be joined to the first, or ignored. */
const SINGLE_HEADERS = new Set([
  'authorization',
  'idempotency-key',
  'x-csrf-token',
  'last-event-id',
  'origin',
  'sec-fetch-site',
])
const isSingleHeader = (name: string): boolean => SINGLE_HEADERS.has(name) || name.startsWith('x-shopify-')

/** Returns the error for headers that Node's parser accepts and this server does not. */
export function headerError({ headers, rawHeaders, httpVersion }: IncomingMessage): ApiError | undefined {
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
    if (name !== 'host' && !isSingleHeader(name)) continue
    if (seen.includes(name)) return rawHeaders[i]
    seen.push(name)
  }
  return undefined
}
