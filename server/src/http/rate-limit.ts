import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { ShopRow } from '../database/tables.ts'

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

/** What a response tells of it. */
export const windowHeaders = ({ limit, remaining, reset }: Window): Record<string, string> => ({
  'X-RateLimit-Limit': String(limit),
  'X-RateLimit-Remaining': String(remaining),
  'X-RateLimit-Reset': String(reset),
})

export interface RateLimiter {
  /** Counts one request. */
  consume: (subject: string, limit: number) => Promise<Window>
  /** Looks without counting. */
  peek: (subject: string, limit: number) => Promise<Window>
}

// The store only counts; what is too much is decided here, so a changed plan counts in the same window.
export const LIMITER_OPTIONS = {
  points: Number.MAX_SAFE_INTEGER,
  duration: WINDOW_SECONDS,
  keyPrefix: 'referral:limit',
}

export interface LimiterOptions {
  store?: RateLimiterAbstract
  /** Called for each request that was let through uncounted. */
  onFailure?: () => void
  /** How a subject is named in the store. */
  nameOf?: (subject: string) => string
  /** How long a request waits for the store. */
  patienceMs?: number
}

/** Below the 50 ms that a request may be held up for. */
const PATIENCE_MS = 40
/** A store that failed so often in a row is left alone for a while, and then again after each further failure. */
const TRIES = 3
const REST_MS = 1000

/** Fixed windows in a store, which may be shared. A store that fails or is slow lets the request through (section 8). */
export function createRateLimiter(options: LimiterOptions = {}): RateLimiter {
  const {
    store = new RateLimiterMemory(LIMITER_OPTIONS),
    onFailure = () => {},
    nameOf = (subject) => subject,
    patienceMs = PATIENCE_MS,
  } = options
  let failures = 0
  let restsUntil = 0
  const read = async (limit: number, look: () => Promise<Count>): Promise<Window> => {
    const passed = () => {
      onFailure()
      return toWindow(limit, NOTHING)
    }
    if (performance.now() < restsUntil) return passed()
    try {
      const state = await look()
      failures = 0
      return toWindow(limit, state)
    } catch {
      // Whatever it was, the request passes and the metric tells.
      failures++
      if (failures >= TRIES) restsUntil = performance.now() + REST_MS
      return passed()
    }
  }
  const patiently = store instanceof RateLimiterMemory ? <T>(pending: Promise<T>) => pending : within(patienceMs)
  const count = createCounter(store)
  const look = async (subject: string): Promise<Count> => {
    const state = await store.get(subject)
    return state ? { used: state.consumedPoints, msLeft: state.msBeforeNext } : NOTHING
  }
  return {
    consume: (subject, limit) => read(limit, () => patiently(count(nameOf(subject)))),
    peek: (subject, limit) => read(limit, () => patiently(look(nameOf(subject)))),
  }
}

const NOTHING: Count = { used: 0, msLeft: WINDOW_SECONDS * 1000 }

const within =
  (ms: number) =>
  <T>(pending: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const giveUp = () => reject(new Error('The store did not answer in time'))
      // After a pause of the process itself, the answer may lie there unread; it is read before the immediate runs.
      const timer = setTimeout(() => setImmediate(giveUp), ms)
      pending.then(resolve, reject).finally(() => clearTimeout(timer))
    })

function toWindow(limit: number, { used, msLeft }: Count): Window {
  const reset = Math.ceil((msLeft > 0 ? msLeft : WINDOW_SECONDS * 1000) / 1000)
  return { limit, remaining: Math.max(0, limit - used), reset, exceeded: used > limit }
}

/** A caller's window in the store. */
export interface Count {
  /** Requests so far, this one included. */
  used: number
  msLeft: number
}

interface Waiting {
  resolve: (count: Count) => void
  reject: (error: unknown) => void
}

/**
 * Counts one request. While the store is asked for a subject, the requests that follow for the same subject wait and are
 * counted together the next time: each gets its own number, and a burst does not queue up at one row.
 */
export function createCounter(store: RateLimiterAbstract): (subject: string) => Promise<Count> {
  const waiting = new Map<string, Waiting[]>()

  async function ask(subject: string, group: Waiting[]): Promise<void> {
    try {
      const { consumedPoints, msBeforeNext } = await store.consume(subject, group.length).catch(toAnswer)
      const before = consumedPoints - group.length
      for (const [i, one] of group.entries()) one.resolve({ used: before + i + 1, msLeft: msBeforeNext })
    } catch (error) {
      for (const one of group) one.reject(error)
    }
  }

  async function run(subject: string): Promise<void> {
    for (;;) {
      const group = waiting.get(subject) ?? []
      if (group.length === 0) break
      waiting.set(subject, [])
      await ask(subject, group)
    }
    waiting.delete(subject)
  }

  return (subject) =>
    new Promise((resolve, reject) => {
      const group = waiting.get(subject)
      if (group) return void group.push({ resolve, reject })
      waiting.set(subject, [{ resolve, reject }])
      void run(subject)
    })
}

/** The store rejects with the state itself when more was consumed than it was told to allow. */
function toAnswer(error: unknown): RateLimiterRes {
  if (error instanceof RateLimiterRes) return error
  throw error
}
