/** What is left of the window of 60 seconds that the key is in (section 8). */
export interface RateLimit {
  /** Requests allowed in a window. */
  limit: number
  /** Requests left in this one. */
  remaining: number
  /** Seconds until the next one, when the response came. */
  resetSeconds: number
  /** The same as a moment on this machine's clock. */
  resetAt: Date
}

/** Undefined when the answer did not come from the API. */
export const readRateLimit = ({ headers }: Response): RateLimit | undefined => {
  const [limit, remaining, resetSeconds] = ['Limit', 'Remaining', 'Reset'].map((name) =>
    Number(headers.get(`X-RateLimit-${name}`) ?? Number.NaN),
  ) as [number, number, number]
  return limit + remaining + resetSeconds >= 0
    ? { limit, remaining, resetSeconds, resetAt: new Date(Date.now() + resetSeconds * 1000) }
    : undefined
}
