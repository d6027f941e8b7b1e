import { setTimeout as sleep } from 'node:timers/promises'
import type { RateLimit, ReferralClient } from '@referral/sdk'

export interface RateLimiterOptions {
  signal: AbortSignal
  /** Told before a wait for the next window. */
  onWait: (seconds: number) => void
}

/** Lets as many requests pass as the service's headers allow, so that it never has to refuse one. */
export class RateLimiter {
  readonly #options: RateLimiterOptions
  // Before the first answer nothing is known: one request finds out.
  #left = 1
  #limit = 1
  #resetAt = 0
  #flying = 0
  #waiting: (() => void)[] = []

  constructor(options: RateLimiterOptions) {
    this.#options = options
  }

  /** Requests of a window, once a response has said so. */
  get limit(): number | undefined {
    return this.#resetAt === 0 && this.#limit === 1 ? undefined : this.#limit
  }

  /** Waits until the next request may go. */
  async acquire(): Promise<void> {
    while (this.#left - this.#flying <= 0) {
      this.#options.signal.throwIfAborted()
      if (this.#flying > 0) await this.#landing()
      else await this.#nextWindow()
    }
    this.#options.signal.throwIfAborted()
    this.#flying += 1
  }

  /** To be called after every request, with what its answer said. */
  release(rateLimit: RateLimit | undefined): void {
    this.#flying -= 1
    if (rateLimit) {
      const resetAt = rateLimit.resetAt.getTime()
      // Answers may come out of order: within a window the lowest count is the latest.
      const isSameWindow = Math.abs(resetAt - this.#resetAt) < 1500
      this.#left = isSameWindow ? Math.min(this.#left, rateLimit.remaining) : rateLimit.remaining
      this.#resetAt = resetAt
      this.#limit = rateLimit.limit
    } else this.#left = Math.max(this.#left, 1)
    for (const wake of this.#waiting.splice(0)) wake()
  }

  #landing(): Promise<void> {
    return new Promise((done) => void this.#waiting.push(done))
  }

  async #nextWindow(): Promise<void> {
    // The header counts whole seconds: a little later is surely in the next window.
    const ms = Math.max(0, this.#resetAt - Date.now()) + 100
    if (ms > 2000) this.#options.onWait(Math.ceil(ms / 1000))
    await sleep(ms, undefined, { signal: this.#options.signal })
    this.#left = this.#limit
    this.#resetAt = 0
  }
}

/** A client and a way to make each of its requests wait its turn. */
export const rateLimitedClient = (client: ReferralClient, pace: RateLimiter) => ({
  client,
  rateLimited: async <T>(call: () => PromiseLike<T>): Promise<T> => {
    await pace.acquire()
    try {
      return await call()
    } finally {
      pace.release(client.rateLimit)
    }
  },
})
