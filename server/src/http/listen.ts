import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import type { Deps } from '../context.ts'
import { type ApiError, invalid } from '../errors.ts'
import { requestIdOf } from './request-id.ts'

type Fetch = Parameters<typeof getRequestListener>[0]
type Known = Pick<Deps, 'newId' | 'log'>

/** The app on a socket. What is too broken to become a request is refused as everything else is: JSON and a request id. */
export function createListener(fetch: Fetch, deps: Known): Server {
  const answer = getRequestListener(
    (request, env) => (hasHost(env.incoming as IncomingMessage) ? fetch(request, env) : refuse(deps)),
    { hostname: 'localhost', errorHandler: () => refuse(deps) },
  )
  // Node would answer a missing Host with nothing at all.
  const server = createServer({ requireHostHeader: false }, answer)
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => refuseRaw(deps, error, socket))
  // An expectation that nobody knows is no reason to refuse (RFC 9110, section 10.1.1).
  server.on('checkExpectation', (incoming, outgoing) => void server.emit('request', incoming, outgoing))
  return server
}

/** As Node knows a socket by itself: with the answer that is under way on it. */
type Answering = Duplex & { _httpMessage?: ServerResponse | null }

const hasHost = ({ headers, httpVersion }: IncomingMessage) => headers.host !== undefined || httpVersion === '1.0'

const malformed = () => invalid('request_malformed', 'This is not a valid HTTP request.')

function refuse(deps: Known): Response {
  const error = malformed()
  return Response.json({ error: error.message }, { status: error.status, headers: headersOf(deps, error) })
}

/**
 * Nothing could be read that an answer could be built on, so it is written as it goes over the wire. It must not be taken
 * for the answer of a request before it, which was read whole and may have changed something: that one comes first.
 */
function refuseRaw(deps: Known, error: NodeJS.ErrnoException, socket: Duplex): void {
  const underWay = (socket as Answering)._httpMessage
  if (underWay?.req.complete) return void underWay.once('finish', () => refuseRaw(deps, FOLLOWED, socket))
  // The client has gone, has had its answer, or is about to have one that this would break.
  if (error.code === 'ECONNRESET' || error === FOLLOWED || !socket.writable || underWay?.headersSent) {
    return void socket.destroy()
  }
  socket.end(rawRefusal(deps), () => socket.destroy())
}

const FOLLOWED = new Error('Behind a whole request came something that is none')

function rawRefusal(deps: Known): string {
  const error = malformed()
  const body = JSON.stringify({ error: error.message })
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    ...headersOf(deps, error),
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`
}

function headersOf(deps: Known, { code, status }: ApiError): Record<string, string> {
  const requestId = requestIdOf(undefined, deps)
  deps.log.info({ requestId, status, code }, 'request')
  return { 'X-Request-Id': requestId, 'X-Error-Code': code }
}
