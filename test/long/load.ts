import { setTimeout as sleep } from 'node:timers/promises'
import { type Answer, call } from '../support/calls.ts'
import type { RunningServer } from '../support/process.ts'

const WORKERS = 24

export interface LoadOptions {
  /** Callers at the same time. */
  workers?: number
  /** The pause of a caller after each order, in ms. */
  pauseMs?: number
  /** Called after each request with its time in ms, and the status unless there was no response. */
  onAttempt?: (ms: number, status: number | undefined) => void
}

/** An order as it was reported. */
export interface Sent {
  id: string
  amountCents: number
}

export interface Acknowledged extends Sent {
  /** The exact bytes of the 201. */
  text: string
  commissionId: string
}

const MAX_CENTS = 50_000

/** Callers who continuously report orders with the code NISA16. Without a response, they retry with the same key. */
export class Load {
  readonly sent: Sent[] = []
  readonly acknowledged: Acknowledged[] = []
  /** How often each other status was returned. */
  readonly refused = new Map<number, number>()
  unanswered = 0
  readonly #keys: string[]
  readonly #options: Required<LoadOptions>
  #server: Pick<RunningServer, 'url'> | undefined
  #isOver = false
  #workers: Promise<void>[] = []

  constructor(keys: string[], options: LoadOptions = {}) {
    this.#keys = keys
    this.#options = { workers: WORKERS, pauseMs: 0, onAttempt: () => {}, ...options }
  }

  /** Directs the load to this server; undefined while there is none. */
  aim(server: Pick<RunningServer, 'url'> | undefined): void {
    this.#server = server
  }

  start(): void {
    this.#workers = Array.from({ length: this.#options.workers }, () => this.#work())
  }

  /** Resolves when every started order is acknowledged. */
  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#workers)
  }

  /** Reports an order again. */
  repeat({ id, amountCents }: Sent, server: Pick<RunningServer, 'url'>, n = this.sent.length): Promise<Answer> {
    const order = { externalOrderId: id, amountCents, couponCode: 'NISA16' }
    return call(server, this.#keys[n % this.#keys.length]!, ['POST', '/api/v1/events', order, `key-${id}`])
  }

  async #work(): Promise<void> {
    while (!this.#isOver) {
      const order = { id: `o-${this.sent.length}`, amountCents: Math.floor(Math.random() * MAX_CENTS) + 1 }
      this.sent.push(order)
      await this.#untilAcknowledged(order)
      await sleep(this.#options.pauseMs)
    }
  }

  async #untilAcknowledged(order: Sent): Promise<void> {
    // All keys in turn: with one for each caller, fast callers reach its rate limit.
    for (let n = this.sent.length; ; n++) {
      const server = this.#server
      const startedAt = performance.now()
      const answer = server && (await this.repeat(order, server, n).catch(() => undefined))
      if (server) this.#options.onAttempt(performance.now() - startedAt, answer?.status)
      if (answer?.status === 201) {
        this.acknowledged.push({ ...order, text: answer.text, commissionId: answer.body.commission.id })
        return
      }
      if (answer) this.refused.set(answer.status, (this.refused.get(answer.status) ?? 0) + 1)
      else if (server) this.unanswered++
      await sleep(5)
    }
  }
}
