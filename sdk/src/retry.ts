/**
 * What may be sent again (`x-retry` in openapi.yaml): `safe` reads, `keyed` carries an idempotency key, `repeatable`
 * leads to the same state when it is done twice, `never` could do it twice.
 */
export type Retry = 'safe' | 'keyed' | 'repeatable' | 'never'

/** The service names the cause of every refusal; a gateway that gave up in between does not. */
const isOwn = ({ headers }: Response) => headers.has('X-Error-Code')

/** Whether an answer leaves open what happened. The service's own 500 and 503 say that nothing was written. */
export const isUncertain = (response: Response): boolean => response.status >= 500 && !isOwn(response)

/** Whether an attempt is worth another: nothing was done yet, or doing it twice is safe. Never after a 409. */
export const mayRetry = (retry: Retry, response: Response | undefined): boolean => {
  const { status } = response ?? {}
  if (status === 429 || (response && status === 503 && isOwn(response))) return true
  return retry !== 'never' && (status === undefined || status >= 500)
}

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

// Never connected: refused, unknown name, bad certificate. Node, Bun and Deno each say it their own way.
const neverSent =
  /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT|CERT|UNABLE_TO_VERIFY|ConnectionRefused|tcp connect|dns error/

/** Whether a request whose connection failed may have reached the service. */
export const mayHaveArrived = (failure: unknown): boolean => {
  const { code, message, cause } = (failure ?? {}) as { code?: unknown; message?: unknown; cause?: unknown }
  return !neverSent.test(`${code} ${message}`) && (cause == null || mayHaveArrived(cause))
}
