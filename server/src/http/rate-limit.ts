import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { ShopRow } from '../db/tables.ts'

/** Requests per window of each plan with API access (section 5 rule 7). */
export const PLAN_LIMITS: Partial<Record<ShopRow['plan'], number>> = { PROFESSIONAL: 100, ENTERPRISE: 1000 }
/** Calls without a valid key count per client address. */
export const ADDRESS_LIMIT = 100
export const WINDOW_SECONDS = 60

/** One caller's window as the response headers tell it; `reset` in seconds. */
export interface Window {
  limit: number
  remaining: number
  reset: number
  exceeded: boolean
}

export interface RateLimiter {
  /** Counts one request. */
  consume: (subject: string, limit: number) => Promise<Window>
  /** Looks without counting. */
  peek: (subject: string, limit: number) => Promise<Window>
}

// The store only counts; what is too much is decided here, so a changed plan counts in the same window.
export const LIMITER_OPTIONS = { points: Number.MAX_SAFE_INTEGER, duration: WINDOW_SECONDS, keyPrefix: 'limit' }

/** Fixed windows in a shared store. A store that fails lets the request through (section 8). */
export function createRateLimiter(
  store: RateLimiterAbstract = new RateLimiterMemory(LIMITER_OPTIONS),
  onFailure = () => {},
): RateLimiter {
  const read = async (limit: number, look: () => Promise<RateLimiterRes | null>): Promise<Window> => {
    try {
      return toWindow(limit, await look())
    } catch (error) {
      if (error instanceof RateLimiterRes) return toWindow(limit, error)
      onFailure()
      return toWindow(limit, null)
    }
  }
  return {
    consume: (subject, limit) => read(limit, () => store.consume(subject)),
    peek: (subject, limit) => read(limit, () => store.get(subject)),
  }
}

function toWindow(limit: number, state: RateLimiterRes | null): Window {
  const used = state?.consumedPoints ?? 0
  const waitMs = state && state.msBeforeNext > 0 ? state.msBeforeNext : WINDOW_SECONDS * 1000
  return { limit, remaining: Math.max(0, limit - used), reset: Math.ceil(waitMs / 1000), exceeded: used > limit }
}
