import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { ApiError, invalid } from '../errors.ts'
import { type Known, type Read, rawRefusal, readFrom, refuse } from './malformed.ts'

type Fetch = Parameters<typeof getRequestListener>[0]

/** The app on a socket. What is too broken to become a request is refused as everything else is: JSON and a request id. */
export function createListener(fetch: Fetch, known: Known): Server {
  let reading: IncomingMessage
  const refuseIncoming = (incoming: IncomingMessage) => refuse(known, malformed(), readFrom(incoming))
  const answer = getRequestListener(
    (request, env) => {
      const incoming = env.incoming as IncomingMessage
      return hasHost(incoming) ? fetch(request, env) : refuseIncoming(incoming)
    },
    // What cannot be made a request fails at once, before another one is read.
    { hostname: 'localhost', errorHandler: () => refuseIncoming(reading) },
  )
  // Node would answer a missing Host with nothing at all.
  const server = createServer({ requireHostHeader: false }, (incoming, outgoing) => {
    reading = incoming
    return answer(incoming, outgoing)
  })
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

const hasHost = ({ headers, httpVersion }: IncomingMessage) => headers.host !== undefined || httpVersion === '1.0'

const malformed = () => invalid('request_malformed', 'This is not a valid HTTP request.')
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
  const refusal = error instanceof ApiError ? error : malformed()
  const text = await rawRefusal(known, refusal, readRaw(error, socket))
  if (isTooLate()) return void socket.destroy()
  socket.end(text, () => socket.destroy())
}

/** What can be told: the path stands in the request that broke off, or where the bytes begin. */
function readRaw(error: Broken | ApiError, { _httpMessage: underWay, remoteAddress }: Answering): Read {
  if (underWay) return readFrom(underWay.req)
  const bytes = 'rawPacket' in error ? error.rawPacket : undefined
  return { target: bytes?.toString('latin1', 0, 300).split(' ', 2)[1], socket: remoteAddress }
}

const FOLLOWED: Broken = new Error('Behind a whole request came something that is none')
