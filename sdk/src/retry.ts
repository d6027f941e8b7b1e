/**
 * What may be sent again (`x-retry` in openapi.yaml): `safe` reads, `keyed` carries an idempotency key, `repeatable` leads to the same
 * state when it is done twice, `never` could do it twice.
 */
export type Retry = 'safe' | 'keyed' | 'repeatable' | 'never'

/** Whether an attempt is worth another: 429 and 503 changed nothing; the rest must be safe to do twice. Never a 409. */
export const mayRetry = (retry: Retry, status: number | undefined): boolean =>
  status === 429 || status === 503 || (retry !== 'never' && (status === undefined || status >= 500))

const seconds = (response: Response | undefined, header: string) =>
  Number.parseFloat(response?.headers.get(header) ?? '')

/** Milliseconds until the next attempt: what the service asks for, at most 60 s, or growing steps up to 8 s; with jitter. */
export const retryDelay = (response: Response | undefined, attempt: number): number => {
  const reset = response?.status === 429 ? seconds(response, 'X-RateLimit-Reset') : Number.NaN
  const asked = reset >= 0 ? reset : seconds(response, 'Retry-After')
  return asked >= 0
    ? Math.min(60_000, asked * 1000 + Math.random() * 500)
    : Math.min(8_000, 500 * 2 ** (attempt - 1)) * (1 - Math.random() / 2)
}

// Never connected: refused, or the name is unknown. Node, Bun and Deno each say it their own way.
const neverSent = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT|ConnectionRefused|tcp connect|dns error/

/** Whether a request whose connection failed may have reached the service. */
export const mayHaveArrived = (failure: unknown): boolean => {
  const { code, message, cause } = (failure ?? {}) as { code?: unknown; message?: unknown; cause?: unknown }
  return !neverSent.test(`${code} ${message}`) && (cause == null || mayHaveArrived(cause))
}
