import { setTimeout as sleep } from 'node:timers/promises'
import type { RateLimit, ReferralClient } from '@referral/sdk'

export interface RateLimiterOptions {
  signal: AbortSignal
  /** Called before waiting for the next window. */
  onWait: (seconds: number) => void
}

/** Limits requests to what the service's rate limit headers allow, so that none are rejected. */
export class RateLimiter {
  readonly #options: RateLimiterOptions
  // The limit is unknown until the first response.
  #remaining = 1
  #limit = 1
  #resetAt = 0
  #inFlight = 0
  #waiting: (() => void)[] = []

  constructor(options: RateLimiterOptions) {
    this.#options = options
  }

  /** Requests per window, or undefined before the first response. */
  get limit(): number | undefined {
    return this.#resetAt === 0 && this.#limit === 1 ? undefined : this.#limit
  }

  /** Waits until the next request is allowed. */
  async acquire(): Promise<void> {
    while (this.#remaining - this.#inFlight <= 0) {
      this.#options.signal.throwIfAborted()
      if (this.#inFlight > 0) await this.#nextRelease()
      else await this.#nextWindow()
    }
    this.#options.signal.throwIfAborted()
    this.#inFlight += 1
  }

  /** Must be called after every request, with its response's rate limit. */
  release(rateLimit: RateLimit | undefined): void {
    this.#inFlight -= 1
    if (rateLimit) {
      const resetAt = rateLimit.resetAt.getTime()
      // Responses may arrive out of order: within a window, the lowest count is the latest.
      const isSameWindow = Math.abs(resetAt - this.#resetAt) < 1500
      this.#remaining = isSameWindow ? Math.min(this.#remaining, rateLimit.remaining) : rateLimit.remaining
      this.#resetAt = resetAt
      this.#limit = rateLimit.limit
    } else this.#remaining = Math.max(this.#remaining, 1)
    for (const wake of this.#waiting.splice(0)) wake()
  }

  #nextRelease(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.push(resolve))
  }

  async #nextWindow(): Promise<void> {
    // The header has a resolution of one second.
    const ms = Math.max(0, this.#resetAt - Date.now()) + 100
    if (ms > 2000) this.#options.onWait(Math.ceil(ms / 1000))
    await sleep(ms, undefined, { signal: this.#options.signal })
    this.#remaining = this.#limit
    this.#resetAt = 0
  }
}

/** Sends a request as soon as the rate limit allows it. */
export type RateLimited = <T>(call: () => PromiseLike<T>) => Promise<T>

/** Combines a client with a function that applies the rate limit to its requests. */
export const rateLimitedClient = (client: ReferralClient, limiter: RateLimiter) => ({
  client,
  rateLimited: async <T>(call: () => PromiseLike<T>): Promise<T> => {
    await limiter.acquire()
    try {
      return await call()
    } finally {
      limiter.release(client.rateLimit)
    }
  },
})
