/**
 * Whether an operation may be sent again (`x-retry` in openapi.yaml): `safe` operations read, `keyed` ones carry an
 * idempotency key, `repeatable` ones reach the same state when applied twice, `never` ones could be applied twice.
 */
export type RetryPolicy = 'safe' | 'keyed' | 'repeatable' | 'never'

/** The rate limit window of the API key, from the `X-RateLimit-*` headers of a response. */
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

/** Returns undefined for a response without rate limit headers, such as one from a proxy. */
export const readRateLimit = ({ headers }: Response): RateLimit | undefined => {
  const [limit, remaining, resetSeconds] = ['Limit', 'Remaining', 'Reset'].map((name) =>
    Number(headers.get(`X-RateLimit-${name}`) ?? Number.NaN),
  ) as [number, number, number]
  return limit + remaining + resetSeconds >= 0
    ? { limit, remaining, resetSeconds, resetAt: new Date(Date.now() + resetSeconds * 1000) }
    : undefined
}

/**
 * Whether a write may have been applied despite this response: a 5xx without an error code is from a proxy or gateway,
 * and all error codes of the API but `outcome_unknown` mean that nothing was written.
 */
export const isOutcomeUnknown = ({ status, headers }: Response): boolean =>
  status >= 500 && (headers.get('X-Error-Code') ?? 'outcome_unknown') === 'outcome_unknown'

/** Whether to retry after a response, or after none: when nothing was applied yet, or applying it twice is safe. */
export const mayRetry = (policy: RetryPolicy, response: Response | undefined): boolean => {
  const { status } = response ?? {}
  if (status === 429 || (response && status === 503 && !isOutcomeUnknown(response))) return true
  return policy !== 'never' && (status === undefined || status >= 500)
}

const readSeconds = (response: Response | undefined, header: string) =>
  Number.parseFloat(response?.headers.get(header) ?? '')

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
