import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import { rateLimited } from '../contract/errors.ts'
import type { Deps } from '../core/context.ts'
import type { Vault } from '../core/vault.ts'
import { openLimitStore } from '../database/limit-store.ts'
import type { ShopRow } from '../database/tables.ts'

/** Requests per window of each plan with API access. */
export const PLAN_LIMITS: Partial<Record<ShopRow['plan'], number>> = { PROFESSIONAL: 100, ENTERPRISE: 1000 }
/** Requests per window and key of a shop: the operator's limit, or that of the plan; undefined for a plan without API access. */
export const requestLimit = ({
  plan,
  requestsPerMinute,
}: Pick<ShopRow, 'plan' | 'requestsPerMinute'>): number | undefined =>
  PLAN_LIMITS[plan] && (requestsPerMinute ?? PLAN_LIMITS[plan])

/** Requests per window and client address without a valid key. */
export const ADDRESS_LIMIT = 100
export const WINDOW_SECONDS = 60

/** A caller's window, as in the response headers; `reset` in seconds. */
export interface RateLimit {
  limit: number
  remaining: number
  reset: number
  exceeded: boolean
}

/** The `X-RateLimit-*` headers. */
export const rateLimitHeaders = ({ limit, remaining, reset }: RateLimit): Record<string, string> => ({
  'X-RateLimit-Limit': String(limit),
  'X-RateLimit-Remaining': String(remaining),
  'X-RateLimit-Reset': String(reset),
})

export interface RateLimiter {
  /** Counts one request. */
  consume: (subject: string, limit: number) => Promise<RateLimit>
  /** Reads the window without counting. */
  peek: (subject: string, limit: number) => Promise<RateLimit>
}

// The store only counts and this module applies the limit, so a changed plan takes effect in the current window.
export const LIMITER_OPTIONS = {
  points: Number.MAX_SAFE_INTEGER,
  duration: WINDOW_SECONDS,
  keyPrefix: 'referral:limit',
}

interface StoreOptions {
  /** Called for each request that is allowed without being counted. */
  onFailure?: () => void
  /** Called once when the store fails repeatedly, and once when it responds again. */
  onOutage?: (isOut: boolean) => void
  /** The key of a subject in the store. */
  keyOf?: (subject: string) => string
  /** How long a request waits for the store, in milliseconds. */
  timeoutMs?: number
}

export interface LimiterOptions extends StoreOptions {
  /** Counts for several processes; without it, each counts for itself. */
  store?: RateLimiterAbstract | undefined
}

/** Fixed windows, each from the first request of a subject. */
export const createRateLimiter = ({ store, ...options }: LimiterOptions = {}): RateLimiter =>
  store ? createStoreLimiter(store, options) : createMemoryLimiter()

function createMemoryLimiter(): RateLimiter {
  // In the order in which they began, which is also that in which they end.
  const windows = new Map<string, { used: number; endsAt: number }>()
  const removeEnded = (now: number) => {
    for (const [subject, { endsAt }] of windows) {
      if (endsAt > now) return
      windows.delete(subject)
    }
  }
  return {
    consume: async (subject, limit) => {
      const now = Date.now()
      let window = windows.get(subject)
      if (!window || window.endsAt <= now) {
        removeEnded(now)
        window = { used: 0, endsAt: now + WINDOW_MS }
        windows.set(subject, window)
      }
      window.used++
      return toRateLimit(limit, { used: window.used, msLeft: window.endsAt - now })
    },
    peek: async (subject, limit) => {
      const { used, endsAt } = windows.get(subject) ?? { used: 0, endsAt: 0 }
      const msLeft = endsAt - Date.now()
      return toRateLimit(limit, msLeft > 0 ? { used, msLeft } : EMPTY_WINDOW)
    },
  }
}

/** Rate limiting may delay a request by at most 50 ms. */
const STORE_TIMEOUT_MS = 40
/** Consecutive failures after which the store is not called for {@link COOLDOWN_MS}; each further failure renews the pause. */
const MAX_FAILURES = 3
const COOLDOWN_MS = 1000

/** Fails open: a request is allowed when the store fails or is slow. */
function createStoreLimiter(
  store: RateLimiterAbstract,
  {
    onFailure = () => {},
    onOutage = () => {},
    keyOf = (subject) => subject,
    timeoutMs = STORE_TIMEOUT_MS,
  }: StoreOptions,
): RateLimiter {
  let failures = 0
  let coolsDownUntil = 0
  const read = async (limit: number, look: () => Promise<WindowCount>): Promise<RateLimit> => {
    const allow = () => {
      onFailure()
      return toRateLimit(limit, EMPTY_WINDOW)
    }
    if (performance.now() < coolsDownUntil) return allow()
    try {
      const state = await withTimeout(look(), timeoutMs)
      if (failures >= MAX_FAILURES) onOutage(false)
      failures = 0
      return toRateLimit(limit, state)
    } catch {
      // Any failure allows the request and is counted in the metric.
      failures++
      if (failures === MAX_FAILURES) onOutage(true)
      if (failures >= MAX_FAILURES) coolsDownUntil = performance.now() + COOLDOWN_MS
      return allow()
    }
  }
  const count = async (subject: string): Promise<WindowCount> => {
    const { consumedPoints, msBeforeNext } = await store.consume(subject)
    return { used: consumedPoints, msLeft: msBeforeNext }
  }
  const look = async (subject: string): Promise<WindowCount> => {
    const state = await store.get(subject)
    return state ? { used: state.consumedPoints, msLeft: state.msBeforeNext } : EMPTY_WINDOW
  }
  return {
    consume: (subject, limit) => read(limit, () => count(keyOf(subject))),
    peek: (subject, limit) => read(limit, () => look(keyOf(subject))),
  }
}

const WINDOW_MS = WINDOW_SECONDS * 1000
const EMPTY_WINDOW: WindowCount = { used: 0, msLeft: WINDOW_MS }

const withTimeout = <T>(pending: Promise<T>, ms: number): Promise<T> =>
  new Promise((resolve, reject) => {
    const giveUp = () => reject(new Error('The rate-limit store timed out'))
    // After a pause of the process the response may have arrived unread; it is read before the immediate runs.
    const timer = setTimeout(() => setImmediate(giveUp), ms)
    pending.then(resolve, reject).finally(() => clearTimeout(timer))
  })

function toRateLimit(limit: number, { used, msLeft }: WindowCount): RateLimit {
  const reset = Math.ceil((msLeft > 0 ? msLeft : WINDOW_MS) / 1000)
  return { limit, remaining: Math.max(0, limit - used), reset, exceeded: used > limit }
}

/** A caller's window in the store. */
interface WindowCount {
  /** Requests so far, including this one. */
  used: number
  msLeft: number
}

/** Opens the limiter of a server process. `close` disconnects its store. */
export async function openRateLimiter(
  { config, vault, log }: Pick<Deps, 'config' | 'vault' | 'log'>,
  onFailure?: () => void,
): Promise<{ limiter: RateLimiter; close: () => Promise<void> }> {
  const { store, close } = await openLimitStore(config, LIMITER_OPTIONS)
  const onOutage = (isOut: boolean) => {
    if (isOut) log.warn('the rate limit store does not respond; requests pass without being counted')
    else log.info('the rate limit store responds again')
  }
  return { limiter: createRateLimiter({ store, onFailure, onOutage, keyOf: hashAddress(vault) }), close }
}

/** A shared store receives key ids unchanged, and addresses only as a keyed hash. */
const hashAddress = (vault: Vault) => (subject: string) => {
  const [kind, name = ''] = subject.split(/:(.*)/s)
  return kind === 'key' ? subject : `${kind}:${vault.fingerprint(name).slice(0, 32)}`
}

/**
 * Requests per window and client address to what needs no credential: the contract, and pages before sign-in. Generous,
 * because behind an untrusted proxy all clients share one address.
 */
const PUBLIC_LIMIT = 600

/** @throws ApiError 429 `rate_limited`. */
export async function limitPublic(
  { limiter }: { limiter: RateLimiter },
  { address }: { address: string },
): Promise<void> {
  const window = await limiter.consume(`public:${address}`, PUBLIC_LIMIT)
  if (window.exceeded) throw rateLimited(window)
}
