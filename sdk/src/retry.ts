/**
 * Whether an operation may be sent again (`x-retry` in openapi.yaml): `safe` operations read, `keyed` ones carry an
 * idempotency key, `repeatable` ones reach the same state when applied twice, `never` ones could be applied twice.
 */
export type RetryPolicy = 'safe' | 'keyed' | 'repeatable' | 'never'

/** The API key's rate limit window, from the `X-RateLimit-*` headers of a response. */
export interface RateLimit {
  /** Requests allowed per window. */
  limit: number
  /** Requests remaining in the current window. */
  remaining: number
  /** Seconds from the response until the window resets. */
  resetSeconds: number
  /** When the window resets, on the local clock. */
  resetAt: Date
}

/** Returns a header of the response. */
export const headerOf = (response: Response | undefined, name: string): string | undefined =>
  response?.headers.get(name) ?? undefined

/** Returns undefined for a response without rate limit headers, such as one from a proxy. */
export const readRateLimit = (response: Response | undefined): RateLimit | undefined => {
  const read = (name: string) => Number.parseFloat(headerOf(response, `X-RateLimit-${name}`) ?? '')
  const [limit, remaining, resetSeconds] = [read('Limit'), read('Remaining'), read('Reset')]
  return limit + remaining + resetSeconds >= 0
    ? { limit, remaining, resetSeconds, resetAt: new Date(Date.now() + resetSeconds * 1000) }
    : undefined
}

/**
 * Whether a write may have been applied despite this response: a 5xx without an error code is from a proxy or gateway,
 * and all error codes of the API but `outcome_unknown` mean that nothing was written.
 */
export const isOutcomeUnknown = (response: Response): boolean =>
  response.status >= 500 && (headerOf(response, 'X-Error-Code') ?? 'outcome_unknown') === 'outcome_unknown'

/**
 * Whether to retry after a response, or after none: when nothing was applied yet, or applying it twice is safe. A broken
 * success is like a lost connection.
 */
export const mayRetry = (policy: RetryPolicy, response: Response | undefined, isBroken: boolean): boolean => {
  const { status, ok } = response ?? { status: 599, ok: false }
  if (status === 429 || (status === 503 && !isOutcomeUnknown(response!))) return true
  return policy !== 'never' && (status >= 500 || (ok && isBroken))
}

/** Seconds until the next attempt as a header says it: a number, or for `Retry-After` also a date. */
const readSeconds = (response: Response | undefined, header: string) => {
  const value = headerOf(response, header) ?? ''
  return /^[a-z]/i.test(value) ? Math.max(0, Date.parse(value) - Date.now()) / 1000 : Number.parseFloat(value)
}

/**
 * Milliseconds to wait before the next attempt, with jitter: what the response asks for, at most 60 s, else exponential
 * backoff from 0.5 s to 8 s.
 */
export const retryDelay = (response: Response | undefined, attempt: number): number => {
  const reset = response?.status === 429 ? readSeconds(response, 'X-RateLimit-Reset') : Number.NaN
  const requested = reset >= 0 ? reset : readSeconds(response, 'Retry-After')
  return requested >= 0
    ? Math.min(60_000, requested * 1000 + Math.random() * 500)
    : Math.min(8_000, 500 * 2 ** (attempt - 1)) * (1 - Math.random() / 2)
}

// Refused connection, unknown host or invalid certificate, as Node, Bun and Deno report them.
const CONNECT_FAILURE =
  /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT|CERT|UNABLE_TO_VERIFY|ConnectionRefused|tcp connect|dns error/

/** Whether a request may have reached the server although its connection failed. */
export const mayHaveReachedServer = (failure: unknown): boolean => {
  const { code, message, cause } = (failure ?? {}) as { code?: unknown; message?: unknown; cause?: unknown }
  return !CONNECT_FAILURE.test(`${code} ${message}`) && (cause == null || mayHaveReachedServer(cause))
}

/** Delays attempts so that the rate limit is not exceeded. */
export interface Pacer {
  /** Returns undefined when an attempt may be sent now, else the milliseconds to wait at most and what to wait for. */
  acquire(): { ms: number; until: Promise<void> } | undefined
  /** Must be called after every attempt, with the window of its response. */
  release(window: RateLimit | undefined): void
}

export const createPacer = (max: number | 'auto'): Pacer => {
  const isAuto = max === 'auto'
  // The first response describes the window; before it, one attempt at a time.
  let limit = isAuto ? 1 : max
  let remaining = limit
  let resetAt = Infinity
  let inFlight = 0
  const waiting: (() => void)[] = []

  return {
    acquire() {
      const now = Date.now()
      if (now >= resetAt) {
        remaining = limit
        resetAt = Infinity
      }
      if (remaining < 1) return { ms: resetAt - now, until: new Promise((resolve) => waiting.push(resolve)) }
      if (!isAuto && remaining === limit) resetAt = now + 60_000
      remaining--
      inFlight++
      return undefined
    },
    release(window) {
      inFlight--
      if (isAuto && window) {
        // The header has a resolution of one second.
        const at = window.resetAt.getTime() + 100
        const free = window.remaining - inFlight
        // Responses may arrive out of order: within a window, the lowest count is the latest.
        remaining = Math.abs(at - resetAt) < 1_500 ? Math.min(remaining, free) : free
        resetAt = at
        limit = window.limit
      } else if (isAuto && !inFlight) remaining ||= 1
      for (const wake of waiting.splice(0)) wake()
    },
  }
}
