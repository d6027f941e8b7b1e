import { Agent, type Dispatcher } from 'undici'
import { type ConnectorOptions, guardedConnector, openConnector } from './connector.ts'
import { codeOfStatus, DeliveryError, type Outcome } from './outcome.ts'
import type { Target } from './public-url.ts'
import type { Resolve } from './resolve.ts'

const TOTAL_MS = 10_000
const ANSWER_BYTES = 64 * 1024

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
  // shares its origin. Kept briefly, for a receiver may close an idle connection just when it is used again.
  const kept = { keepAliveTimeout: 2000, headersTimeout: 0, bodyTimeout: 0, allowH2: false }
  const guarded = new Agent({ ...kept, connect: guardedConnector(resolve, options) })
  const open = new Agent({ ...kept, connect: openConnector(options) })
  const closed = new DeliveryError('connect')
  return {
    post: (target, headers, body) =>
      new Promise((done) => {
        const attempt = new Attempt(totalMs, (result) => done(result === closed ? undefined : outcomeOf(result)))
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

function outcomeOf(result: number | Error): Outcome {
  if (typeof result === 'number') return { code: codeOfStatus(result), httpStatus: result }
  return { code: result instanceof DeliveryError ? result.code : 'connect', httpStatus: null }
}

// One for all: an answer that has ended has a status, and that decides.
const ENDED = new DeliveryError('connect')

/** One request. Its status decides as soon as it is known; the rest of the answer is only read so far, and dropped. */
class Attempt implements Dispatcher.DispatchHandler {
  #done: ((result: number | Error) => void) | undefined
  #controller: Dispatcher.DispatchController | undefined
  #status: number | undefined
  #bytes = 0
  readonly #timer: NodeJS.Timeout

  constructor(totalMs: number, done: (result: number | Error) => void) {
    this.#done = done
    this.#timer = setTimeout(() => this.#breakOff(new DeliveryError('timeout')), totalMs)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // The time may have run out before there was a connection.
    if (!this.#done) controller.abort(new DeliveryError('timeout'))
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number): void {
    if (status >= 200) this.#status = status
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Uint8Array): void {
    this.#bytes += chunk.length
    if (this.#bytes > ANSWER_BYTES) this.#breakOff(new DeliveryError('connect'))
  }

  onResponseEnd(): void {
    this.end(ENDED)
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.end(error)
  }

  /** Ends the attempt with the status, or with the error when there is none. */
  end(error: Error): void {
    clearTimeout(this.#timer)
    this.#done?.(this.#status ?? error)
    this.#done = undefined
  }

  #breakOff(error: Error): void {
    this.end(error)
    this.#controller?.abort(error)
  }
}
