import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { ApiError, invalid } from '../contract/errors.ts'
import type { Deps } from '../core/context.ts'
import { ADDRESS_LIMIT, type RateLimiter, rateLimitHeaders } from './rate-limit.ts'
import { NOSNIFF } from './response.ts'
import { clientNetwork, resolveAddress, resolveRequestId } from './server.ts'

type Fetch = Parameters<typeof getRequestListener>[0]

export interface ListenerOptions {
  /** How long the request headers may take to arrive. */
  headersTimeoutMs?: number
  /** How long a client may leave a pending response unread. */
  stallTimeoutMs?: number
  /** How long an idle connection stays open for another request. */
  keepAliveMs?: number
}

const HEADERS_TIMEOUT_MS = 10_000
/** Above the limits of headers and body together; ends a request whose body is never read. */
const REQUEST_TIMEOUT_MS = 60_000

/** Also ends exports that are not read. */
const STALL_TIMEOUT_MS = 60_000
/** Longer than proxies keep idle connections, so that none of them sends a request on a connection that is being closed. */
const KEEP_ALIVE_MS = 75_000

/** Serves the app on a socket. Malformed HTTP gets a JSON error with a request id, like any other rejected request. */
export function createListener(
  fetch: Fetch,
  known: ListenerDependencies,
  {
    headersTimeoutMs = HEADERS_TIMEOUT_MS,
    stallTimeoutMs = STALL_TIMEOUT_MS,
    keepAliveMs = KEEP_ALIVE_MS,
  }: ListenerOptions = {},
): Server {
  let reading: IncomingMessage
  const rejectRequest = (incoming: IncomingMessage, error: ApiError) =>
    rejectedResponse(known, error, partialRequestOf(incoming))
  const handle = getRequestListener(
    (request, env) => {
      const incoming = env.incoming as IncomingMessage
      const fault = headerError(incoming)
      return fault ? rejectRequest(incoming, fault) : fetch(request, env)
    },
    // A request that cannot be constructed fails synchronously, so `reading` is still the current one.
    { hostname: 'localhost', errorHandler: () => rejectRequest(reading, malformed()) },
  )
  const options = {
    // Node would respond to a missing Host with an empty 400.
    requireHostHeader: false,
    headersTimeout: headersTimeoutMs,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
  }
  const start = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    reading = incoming
    void handle(incoming, outgoing)
  }
  const server = createServer(options, (incoming, outgoing) => {
    if (outgoing.socket) start(incoming, outgoing)
    else inTurn(incoming, outgoing, start)
  })
  // A request in progress may take longer, as long as its response is read. With this listener Node itself closes nothing.
  server.setTimeout(stallTimeoutMs, (socket: HttpSocket) => {
    if (socket.writableLength > 0 || !socket._httpMessage) socket.destroy()
  })
  server.on('clientError', (error: ParserError, socket) => void rejectSocket(known, error, socket))
  // No tunneling. Without this listener Node closes the connection without a response.
  server.on('connect', (_incoming, socket) => void rejectSocket(known, connectNotAllowed(), socket))
  // Unknown expectations are ignored, as RFC 9110 allows.
  server.on('checkExpectation', (incoming, outgoing) => void server.emit('request', incoming, outgoing))
  return server
}

/** What may wait on one connection: requests, and their bodies in bytes, which no pool counts yet. Most clients wait for each response. */
const MAX_WAITING = { requests: 100, bytes: 64 * 1024 }
const waitingOn = new WeakMap<Duplex, { requests: number; bytes: number }>()

/** How much of a body Node reads ahead, at most. */
const bytesAhead = ({ headers }: IncomingMessage): number =>
  headers['transfer-encoding'] ? MAX_WAITING.bytes : Math.min(Number(headers['content-length'] ?? 0), MAX_WAITING.bytes)

/**
 * Starts a request that arrived before the response to the previous one on its connection was sent. Node parses all
 * requests of a packet in one turn; handled in that turn, 64 KiB of them block the others for too long.
 */
function inTurn(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  start: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
): void {
  const { socket } = incoming
  const waiting = waitingOn.get(socket) ?? { requests: 0, bytes: 0 }
  const bytes = bytesAhead(incoming)
  waiting.requests++
  waiting.bytes += bytes
  waitingOn.set(socket, waiting)
  if (waiting.requests > MAX_WAITING.requests || waiting.bytes > MAX_WAITING.bytes) return void socket.destroy()
  // Emitted when the responses before this one are sent.
  outgoing.once('socket', () => {
    waiting.requests--
    waiting.bytes -= bytes
    setImmediate(start, incoming, outgoing)
  })
}

/** Node's parser error, with the last bytes received. */
type ParserError = NodeJS.ErrnoException & { rawPacket?: Buffer }

/** A socket with Node's internal field for the response in progress. */
type HttpSocket = Duplex & { _httpMessage?: ServerResponse | null; remoteAddress?: string }

const connectNotAllowed = () => new ApiError(405, 'method_not_allowed', 'CONNECT is not supported.')

/**
 * Rejects a request that has no `ServerResponse`, so the response is written to the socket as text. A complete request
 * before it on the same connection is answered first, so that the client does not mistake one response for the other.
 */
async function rejectSocket(
  known: ListenerDependencies,
  error: ParserError | ApiError,
  socket: HttpSocket,
): Promise<void> {
  const inProgress = socket._httpMessage
  if (inProgress?.req.complete)
    return void inProgress.once('finish', () => void rejectSocket(known, AFTER_COMPLETE_REQUEST, socket))
  // The client is gone, or a response has started that this one would corrupt.
  const isTooLate = () => !socket.writable || inProgress?.headersSent
  if (error.code === 'ECONNRESET' || error === AFTER_COMPLETE_REQUEST || isTooLate()) return void socket.destroy()
  const rejection = error instanceof ApiError ? error : parserErrorOf(error)
  const text = await rejectedResponseText(known, rejection, partialRequestOfSocket(error, socket))
  if (isTooLate()) return void socket.destroy()
  socket.end(text, () => socket.destroy())
}

const parserErrorOf = ({ code }: ParserError): ApiError =>
  code === 'ERR_HTTP_REQUEST_TIMEOUT' ? requestTimeout() : malformed()

/** What is known of the request: from the request in progress, or from the first bytes received. */
function partialRequestOfSocket(
  error: ParserError | ApiError,
  { _httpMessage: inProgress, remoteAddress }: HttpSocket,
): PartialRequest {
  if (inProgress) return partialRequestOf(inProgress.req)
  const bytes = 'rawPacket' in error ? error.rawPacket : undefined
  return { target: bytes?.toString('latin1', 0, 300).split(' ', 2)[1], socket: remoteAddress }
}

const AFTER_COMPLETE_REQUEST: ParserError = new Error('Malformed HTTP followed a complete request')

/** What the listener needs to reject a request. */
export interface ListenerDependencies extends Pick<Deps, 'newId' | 'log'> {
  config: Pick<Deps['config'], 'trustProxy'>
  limiter: RateLimiter
}

/** What is known of a malformed request. */
export interface PartialRequest {
  /** The request target, as received. */
  target?: string | undefined
  socket?: string | undefined
  forwardedFor?: string | undefined
}

export const partialRequestOf = ({ url, socket, headers }: IncomingMessage): PartialRequest => ({
  target: url,
  socket: socket.remoteAddress,
  forwardedFor: [headers['x-forwarded-for']].flat().join(),
})

/** An error response. Closes the connection, because the start of the next request is unknown. */
export async function rejectedResponse(
  known: ListenerDependencies,
  error: ApiError,
  read: PartialRequest,
): Promise<Response> {
  const headers = { ...(await rejectionHeaders(known, error, read)), Connection: 'close' }
  return Response.json({ error: error.message }, { status: error.status, headers })
}

/** An error response as the text of an HTTP message. */
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
  // No key was checked, so the headers show the window of the address; the request is not counted.
  const address = clientNetwork(resolveAddress(read, known.config.trustProxy))
  return { ...usual, ...rateLimitHeaders(await known.limiter.peek(`address:${address}`, ADDRESS_LIMIT)) }
}

export const malformed = () => invalid('request_malformed', 'Malformed HTTP request.')

export const requestTimeout = () =>
  invalid('request_timeout', 'The request headers did not arrive in time. Send them within 10 seconds.')

/** Headers that decide what a request does or may do. Node would join a second one to the first, or ignore it. */
const SINGLE_HEADERS = new Set([
  'authorization',
  'idempotency-key',
  'x-csrf-token',
  'last-event-id',
  'origin',
  'sec-fetch-site',
])
const isSingleHeader = (name: string): boolean => SINGLE_HEADERS.has(name) || name.startsWith('x-shopify-')

/** Returns the error for headers that Node's parser accepts and this server rejects. */
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
