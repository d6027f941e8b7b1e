import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { type ApiError, invalid } from '../contract/errors.ts'
import type { Deps } from '../core/context.ts'
import { NOSNIFF } from './response.ts'
import { resolveRequestId } from './server.ts'

type Fetch = Parameters<typeof getRequestListener>[0]

interface ListenerOptions {
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
  const rejectRequest = (error: ApiError) => {
    const headers = { ...rejectionHeaders(known, error), Connection: 'close' }
    return Response.json({ error: error.message }, { status: error.status, headers })
  }
  const handle = getRequestListener(
    (request, env) => {
      const fault = headerError(env.incoming as IncomingMessage)
      return fault ? rejectRequest(fault) : fetch(request, env)
    },
    { hostname: 'localhost', errorHandler: () => rejectRequest(malformed()) },
  )
  const options = {
    // Node would respond to a missing Host with an empty 400.
    requireHostHeader: false,
    headersTimeout: headersTimeoutMs,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: Math.min(1000, headersTimeoutMs),
  }
  const start = (incoming: IncomingMessage, outgoing: ServerResponse) => void handle(incoming, outgoing)
  const server = createServer(options, (incoming, outgoing) => {
    if (outgoing.socket) start(incoming, outgoing)
    else inTurn(incoming, outgoing, start)
  })
  // A request in progress may take longer, as long as its response is read. With this listener Node itself closes nothing.
  server.setTimeout(stallTimeoutMs, (socket: HttpSocket) => {
    if (socket.writableLength > 0 || !socket._httpMessage) socket.destroy()
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => rejectSocket(known, error, socket))
  // Unknown expectations are ignored, as RFC 9110 allows.
  server.on('checkExpectation', (incoming, outgoing) => void server.emit('request', incoming, outgoing))
  return server
}

/** What may wait on one connection: requests, and their bodies in bytes, which the budget does not count yet. Most clients wait for each response. */
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

/** A socket with Node's internal field for the response in progress. */
type HttpSocket = Duplex & { _httpMessage?: ServerResponse | null }

/** Rejects bytes that are not a request. */
function rejectSocket(known: ListenerDependencies, { code }: NodeJS.ErrnoException, socket: HttpSocket): void {
  const inProgress = socket._httpMessage
  // The client would mistake one response for the other.
  if (inProgress?.req.complete) return void closeAfterResponses(socket)
  if (code === 'ECONNRESET' || !socket.writable || inProgress?.headersSent) return void socket.destroy()
  const error = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? requestTimeout() : malformed()
  const body = JSON.stringify({ error: error.message })
  const headers = {
    ...rejectionHeaders(known, error),
    'Content-Type': 'application/json',
    'Content-Length': body.length,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const text = `HTTP/1.1 400 Bad Request\r\nConnection: close\r\n${lines.join('')}\r\n${body}`
  socket.end(text, () => socket.destroy())
}

function closeAfterResponses(socket: HttpSocket): void {
  const inProgress = socket._httpMessage
  if (inProgress?.req.complete) inProgress.once('finish', () => closeAfterResponses(socket))
  else socket.destroy()
}

/** The listener's dependencies for rejecting a request. */
type ListenerDependencies = Pick<Deps, 'newId' | 'log'>

function rejectionHeaders(known: ListenerDependencies, { code, status }: ApiError): Record<string, string> {
  const requestId = resolveRequestId(undefined, known)
  known.log.info({ requestId, status, code }, 'request')
  return { 'X-Request-Id': requestId, 'X-Error-Code': code, ...NOSNIFF }
}

const malformed = () => invalid('request_malformed', 'Malformed HTTP request.')

const requestTimeout = () =>
  invalid('request_timeout', 'The request headers did not arrive in time. Send them within 10 seconds.')

/** Headers that decide what a request does or may do. Node would join a second one to the first, or ignore it. */
const SINGLE_HEADERS = new Set([
  'authorization',
  'idempotency-key',
  'x-csrf-token',
  'stripe-signature',
  'origin',
  'sec-fetch-site',
])
const isSingleHeader = (name: string): boolean => SINGLE_HEADERS.has(name) || name.startsWith('x-shopify-')

/** Returns the error for headers that Node's parser accepts and this server rejects. */
function headerError({ headers, rawHeaders, httpVersion }: IncomingMessage): ApiError | undefined {
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
