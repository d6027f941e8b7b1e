import { subscribe } from 'node:diagnostics_channel'
import type { IncomingHttpHeaders } from 'node:http'
import type { LookupFunction, Socket } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { codeOfStatus, type DeliveryCode, DeliveryError, failed, type Outcome } from './outcome.ts'
import { isPublicAddress, isPublicHost, type Resolve, type Target } from './public-url.ts'

const TOTAL_MS = 10_000
const KEEP_ALIVE_MS = 2000

export interface TransportOptions extends ConnectorOptions {
  resolve: Resolve
  totalMs?: number
}

export interface Transport {
  /** Makes one attempt; never rejects. Undefined when `close` aborted it. */
  post: (target: Target, headers: Record<string, string>, body: string) => Promise<Outcome | undefined>
  /** Aborts requests in flight. */
  close: () => Promise<void>
}

/** Sends deliveries over connections that are pooled per origin. Nothing is retried and no redirect is followed. */
export function createTransport({ resolve, totalMs = TOTAL_MS, ...options }: TransportOptions): Transport {
  // One connection per delivery in flight, so that a hanging receiver does not block another on the same origin. Idle
  // connections are kept briefly, whatever the receiver requests: it may close one just as it is reused, and nothing else
  // limits their number.
  const keepAlive = { keepAliveTimeout: KEEP_ALIVE_MS, keepAliveMaxTimeout: KEEP_ALIVE_MS }
  const agentOptions = { ...keepAlive, headersTimeout: 0, bodyTimeout: 0, allowH2: false }
  const guarded = new Agent({ ...agentOptions, connect: guardedConnector(resolve, options) })
  const open = new Agent({ ...agentOptions, connect: openConnector(options) })
  const closed = new DeliveryError('connect')
  return {
    post: (target, headers, body) =>
      new Promise((done) => {
        const attempt = new Attempt(totalMs, (result) => done(result === closed ? undefined : toOutcome(result)))
        const { origin, path } = target
        const agent = target.isAllowed ? open : guarded
        try {
          agent.dispatch({ origin, path, method: 'POST', headers, body }, attempt)
        } catch (error) {
          attempt.end(error as Error)
        }
      }),
    close: async () => void (await Promise.all([guarded.destroy(closed), open.destroy(closed)])),
  }
}

/** A complete response counts by its status, and so does one that is too long to be read to its end. */
function toOutcome(result: ReceivedResponse | Error): Outcome {
  if (result instanceof DeliveryError) return failed(result.code)
  if (result instanceof Error) return failed('connect')
  const { status, isComplete, retryAfter } = result
  const retryAfterMs = retryAfter === undefined ? undefined : parseRetryAfter(retryAfter, Date.now())
  return { code: codeOfStatus(status), httpStatus: status, isComplete, ...(retryAfterMs && { retryAfterMs }) }
}

/** A `Retry-After` in milliseconds, given in seconds or as a date. Undefined for any other text. */
function parseRetryAfter(text: string, now: number): number | undefined {
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

interface ReceivedResponse {
  status: number
  isComplete: boolean
  retryAfter?: string | undefined
}

/** One request. Its response counts when it has ended; the body is discarded. */
class Attempt implements Dispatcher.DispatchHandler {
  #done: ((result: ReceivedResponse | Error) => void) | undefined
  #controller: Dispatcher.DispatchController | undefined
  #status: number | undefined
  #retryAfter: string | undefined
  readonly #timer: NodeJS.Timeout

  constructor(totalMs: number, done: (result: ReceivedResponse | Error) => void) {
    this.#done = done
    this.#timer = setTimeout(() => this.#timeOut(), totalMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // The timeout may have fired before there was a connection.
    if (!this.#done) controller.abort(new DeliveryError('timeout'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return
    this.#status = status
    this.#retryAfter = headers['retry-after']
  }

  /** Required by the client; the bytes are counted on the connection. */
  onResponseData(): void {}

  onResponseEnd(): void {
    const response = { status: this.#status ?? 0, isComplete: true, retryAfter: this.#retryAfter }
    this.end(this.#status === undefined ? new DeliveryError('connect') : response)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    const status = error === RESPONSE_TOO_LONG ? this.#status : undefined
    this.end(status === undefined ? error : { status, isComplete: false })
  }

  end(result: ReceivedResponse | Error): void {
    clearTimeout(this.#timer)
    this.#done?.(result)
    this.#done = undefined
  }

  #timeOut(): void {
    const error = new DeliveryError('timeout')
    this.end(error)
    this.#controller?.abort(error)
  }
}

/** How many bytes of a response are read, counted on the connection. */
const MAX_BYTES = 64 * 1024

/** Aborts a request whose response is longer. */
const RESPONSE_TOO_LONG = new DeliveryError('connect')

/** How many bytes a connection had received when its current request was sent. */
const bytesAtStart = new WeakMap<Socket, number>()
let isWatching = false

/**
 * Closes a connection that receives more than 64 KiB in response to one request. The bytes of the connection are counted,
 * because informational responses, chunk extensions and headers can be endless too and the HTTP client does not report them.
 */
function limitResponses(socket: Socket): void {
  bytesAtStart.set(socket, 0)
  if (isWatching) return
  isWatching = true
  // Published right before a request is written to its connection; there is one request at a time per connection.
  subscribe('undici:client:sendHeaders', (message) => startCounting((message as { socket: Socket }).socket))
}

function startCounting(socket: Socket): void {
  if (!bytesAtStart.has(socket)) return
  bytesAtStart.set(socket, socket.bytesRead)
  // The client's listener comes first, so data is read before it is counted.
  if (!socket.listeners('readable').includes(enforceLimit)) socket.on('readable', enforceLimit)
}

function enforceLimit(this: Socket): void {
  if (this.bytesRead - (bytesAtStart.get(this) ?? 0) > MAX_BYTES) this.destroy(RESPONSE_TOO_LONG)
}

const CONNECT_MS = 5000

interface ConnectorOptions {
  /** Certificates to trust instead of the system's. */
  ca?: string
  connectMs?: number
  /** Wraps the checked lookup, for tests without Internet access. */
  route?: (lookup: LookupFunction) => LookupFunction
}

/** Connects to any address, for targets that the installation allows by name. */
const openConnector = (options: ConnectorOptions): buildConnector.connector =>
  withCodes(buildConnector(settings(options)))

/**
 * Connects to public addresses only. The host is resolved once, all its addresses are checked, and the connection uses one
 * of them, so that DNS rebinding is impossible. TLS verifies the host name itself.
 */
export function guardedConnector(
  resolve: Resolve,
  { route = (lookup) => lookup, ...options }: ConnectorOptions,
): buildConnector.connector {
  const connect = withCodes(buildConnector({ ...settings(options), lookup: route(guardedLookup(resolve)) }))
  return (target, callback) => {
    // Literal addresses are not looked up, so the lookup cannot reject them.
    if (isPublicHost(target.hostname)) return connect(target, callback)
    queueMicrotask(() => callback(new DeliveryError('refused_url'), null))
  }
}

/** A lookup function for `net.connect` that returns public addresses or fails. */
export function guardedLookup(resolve: Resolve): LookupFunction {
  return (host, { all }, callback) => {
    resolveChecked(resolve, host).then(
      (addresses) => (all ? callback(null, addresses) : callback(null, addresses[0]!.address, addresses[0]!.family)),
      (error: DeliveryError) => callback(error, []),
    )
  }
}

async function resolveChecked(resolve: Resolve, host: string) {
  const addresses = await resolve(host).catch(() => [])
  if (addresses.length === 0) throw new DeliveryError('dns')
  if (!addresses.every(isPublicAddress)) throw new DeliveryError('refused_url')
  return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
}

const settings = ({ ca, connectMs = CONNECT_MS }: ConnectorOptions) => ({
  timeout: connectMs,
  allowH2: false,
  ...(ca === undefined ? {} : { ca }),
})

/** Maps every connection failure to one of the fixed codes, and limits the responses. */
function withCodes(connect: buildConnector.connector): buildConnector.connector {
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error !== null) return callback(new DeliveryError(codeOf(error)), null)
      limitResponses(socket)
      callback(null, socket)
    })
}

function codeOf(error: Error & { code?: string; syscall?: string }): DeliveryCode {
  if (error instanceof DeliveryError) return error.code
  if (error.code === 'UND_ERR_CONNECT_TIMEOUT' || error.code === 'ETIMEDOUT') return 'timeout'
  if (error.code === 'ENOTFOUND' || error.code === 'EAI_AGAIN') return 'dns'
  if (error.code === 'EPROTO') return 'tls'
  // Errors of the operating system have a syscall; any other error comes from TLS.
  return error.syscall || error instanceof AggregateError ? 'connect' : 'tls'
}
