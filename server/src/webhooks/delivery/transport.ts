import { Agent, type Dispatcher } from 'undici'
import { type ConnectorOptions, guardedConnector, openConnector, RESPONSE_TOO_LONG } from './connector.ts'
import { codeOfStatus, DeliveryError, failed, type Outcome } from './outcome.ts'
import type { Resolve, Target } from './public-url.ts'

const TOTAL_MS = 10_000
const KEEP_ALIVE_MS = 2000

export interface TransportOptions extends ConnectorOptions {
  resolve: Resolve
  totalMs?: number
}

export interface Transport {
  /** One attempt; never rejects. Undefined when `close` broke it off. */
  post: (target: Target, headers: Record<string, string>, body: string) => Promise<Outcome | undefined>
  /** Breaks off what is under way. */
  close: () => Promise<void>
}

/** Sends deliveries over connections that are kept per origin. Nothing is retried and no redirect is followed. */
export function createTransport({ resolve, totalMs = TOTAL_MS, ...options }: TransportOptions): Transport {
  // As many connections as the caller has deliveries under way: a hanging receiver must not hold those of another that
  // shares its origin. Kept briefly, whatever the receiver asks for: it may close an idle connection just when it is used
  // again, and idle connections are bounded by nothing else.
  const keepAlive = { keepAliveTimeout: KEEP_ALIVE_MS, keepAliveMaxTimeout: KEEP_ALIVE_MS }
  const kept = { ...keepAlive, headersTimeout: 0, bodyTimeout: 0, allowH2: false }
  const guarded = new Agent({ ...kept, connect: guardedConnector(resolve, options) })
  const open = new Agent({ ...kept, connect: openConnector(options) })
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

/** A whole response counts by its status, and so does one that is too long to be read to its end. */
function toOutcome(result: ReceivedResponse | Error): Outcome {
  if (result instanceof DeliveryError) return failed(result.code)
  if (result instanceof Error) return failed('connect')
  const { status, isComplete } = result
  return { code: codeOfStatus(status), httpStatus: status, isComplete }
}

interface ReceivedResponse {
  status: number
  isComplete: boolean
}

/** One request. Its response counts when it has ended; what it says is dropped. */
class Attempt implements Dispatcher.DispatchHandler {
  #done: ((result: ReceivedResponse | Error) => void) | undefined
  #controller: Dispatcher.DispatchController | undefined
  #status: number | undefined
  readonly #timer: NodeJS.Timeout

  constructor(totalMs: number, done: (result: ReceivedResponse | Error) => void) {
    this.#done = done
    this.#timer = setTimeout(() => this.#timeOut(), totalMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // The time may have run out before there was a connection.
    if (!this.#done) controller.abort(new DeliveryError('timeout'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number): void {
    if (status >= 200) this.#status = status
  }

  /** The client insists on it; the bytes are counted on the connection. */
  onResponseData(): void {}

  onResponseEnd(): void {
    this.end(this.#status === undefined ? new DeliveryError('connect') : { status: this.#status, isComplete: true })
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
