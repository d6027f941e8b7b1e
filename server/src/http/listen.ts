import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { ApiError } from '../contract/errors.ts'
import {
  headerFault,
  type Known,
  malformed,
  type Read,
  rawRefusal,
  readFrom,
  refuse,
  requestTimeout,
} from './malformed.ts'

type Fetch = Parameters<typeof getRequestListener>[0]

export interface ListenerOptions {
  /** How long the headers of a request may take to arrive. */
  headersMs?: number
  /** How long a client may read nothing of a response that waits for it. */
  stalledMs?: number
}

const HEADERS_MS = 10_000
/** More than headers and body may take together; what sends a body that nobody reads is cut off then. */
const REQUEST_MS = 60_000

/** A client that reads nothing for so long must not hold on to its response, nor to its event stream. */
const STALLED_MS = 60_000

/** The app on a socket. What is too broken to become a request is refused as everything else is: JSON and a request id. */
export function createListener(
  fetch: Fetch,
  known: Known,
  { headersMs = HEADERS_MS, stalledMs = STALLED_MS }: ListenerOptions = {},
): Server {
  let reading: IncomingMessage
  const refuseIncoming = (incoming: IncomingMessage, error: ApiError) => refuse(known, error, readFrom(incoming))
  const answer = getRequestListener(
    (request, env) => {
      const incoming = env.incoming as IncomingMessage
      const fault = headerFault(incoming)
      return fault ? refuseIncoming(incoming, fault) : fetch(request, env)
    },
    // What cannot be made a request fails at once, before another one is read.
    { hostname: 'localhost', errorHandler: () => refuseIncoming(reading, malformed()) },
  )
  const options = {
    // Node would answer a missing Host with nothing at all.
    requireHostHeader: false,
    headersTimeout: headersMs,
    requestTimeout: REQUEST_MS,
    connectionsCheckingInterval: Math.min(1000, headersMs),
  }
  const server = createServer(options, (incoming, outgoing) => {
    reading = incoming
    return answer(incoming, outgoing)
  })
  // A request may take longer than that; what counts is that something waits to be read.
  server.setTimeout(stalledMs, (socket: Socket) => void (socket.writableLength > 0 && socket.destroy()))
  server.on('clientError', (error: Broken, socket) => void refuseRaw(known, error, socket))
  // Nobody is led on to elsewhere. Node would hang up.
  server.on('connect', (_incoming, socket) => void refuseRaw(known, noTunnel(), socket))
  // An expectation that nobody knows is no reason to refuse (RFC 9110, section 10.1.1).
  server.on('checkExpectation', (incoming, outgoing) => void server.emit('request', incoming, outgoing))
  return server
}

/** As Node tells what it could not read, with the bytes that came last. */
type Broken = NodeJS.ErrnoException & { rawPacket?: Buffer }

/** As Node knows a socket by itself: with the answer that is under way on it. */
type Answering = Duplex & { _httpMessage?: ServerResponse | null; remoteAddress?: string }

const noTunnel = () => new ApiError(405, 'method_not_allowed', 'CONNECT is not allowed here.')

/**
 * Nothing could be read that an answer could be built on, so it is written as it goes over the wire. It must not be taken
 * for the answer of a request before it, which was read whole and may have changed something: that one comes first.
 */
async function refuseRaw(known: Known, error: Broken | ApiError, socket: Answering): Promise<void> {
  const underWay = socket._httpMessage
  if (underWay?.req.complete) return void underWay.once('finish', () => void refuseRaw(known, FOLLOWED, socket))
  // The client has gone, has had its answer, or is about to have one that this would break.
  const isTooLate = () => !socket.writable || underWay?.headersSent
  if (error.code === 'ECONNRESET' || error === FOLLOWED || isTooLate()) return void socket.destroy()
  const refusal = error instanceof ApiError ? error : faultOf(error)
  const text = await rawRefusal(known, refusal, readRaw(error, socket))
  if (isTooLate()) return void socket.destroy()
  socket.end(text, () => socket.destroy())
}

const faultOf = ({ code }: Broken): ApiError => (code === 'ERR_HTTP_REQUEST_TIMEOUT' ? requestTimeout() : malformed())

/** What can be told: the path stands in the request that broke off, or where the bytes begin. */
function readRaw(error: Broken | ApiError, { _httpMessage: underWay, remoteAddress }: Answering): Read {
  if (underWay) return readFrom(underWay.req)
  const bytes = 'rawPacket' in error ? error.rawPacket : undefined
  return { target: bytes?.toString('latin1', 0, 300).split(' ', 2)[1], socket: remoteAddress }
}

const FOLLOWED: Broken = new Error('Behind a whole request came something that is none')
