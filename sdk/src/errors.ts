import { headerOf, type RateLimit, readRateLimit } from './retry.ts'
import type { components } from './schema.ts'

/** The error codes of this API version. Later versions may add more. */
export type ErrorCode = components['schemas']['ErrorCode'] | (string & {})

/** Details of the failed call, copied into its error. */
export interface ErrorDetails {
  cause?: unknown
  response?: Response | undefined
  /** Defaults to `X-Error-Code` of the response. */
  code?: ErrorCode | undefined
  idempotencyKey?: string | undefined
  method?: string
  path?: string
}

const brand = Symbol.for('@referral/sdk/error')

/** The base class of every error a call throws. */
export class ReferralError extends Error {
  /** The machine-readable reason: `X-Error-Code`, or the code of a connection's failure, such as `ECONNREFUSED`. */
  declare readonly code: ErrorCode | undefined
  declare readonly method: string | undefined
  /** The path in the API description, such as `/admin/v1/keys/{id}`. */
  declare readonly path: string | undefined
  /** `X-Request-Id`. Include it in support requests. */
  declare readonly requestId: string | undefined
  declare readonly rateLimit: RateLimit | undefined
  /** The response, when one was received. Its body has been read. */
  declare readonly response: Response | undefined
  /** The idempotency key the write was sent with. Send the same key to repeat the write safely. */
  declare readonly idempotencyKey: string | undefined

  constructor(name: string, message: string, { cause, response, code, ...call }: ErrorDetails) {
    super(message, cause === undefined ? {} : { cause })
    this.name = name
    this.code = code ?? headerOf(response, 'X-Error-Code')
    this.requestId = headerOf(response, 'X-Request-Id')
    this.rateLimit = readRateLimit(response)
    // Not enumerable, so that logging an error does not print a whole response.
    Object.defineProperty(this, 'response', { value: response })
    this.idempotencyKey = call.idempotencyKey
    this.method = call.method
    this.path = call.path
  }

  /** Method and path, such as `GET /api/v1/affiliates`. */
  get operation(): string {
    return `${this.method} ${this.path}`
  }

  get [brand](): true {
    return true
  }
}

/**
 * Returns whether an error was thrown by this package, even by another copy of it, where `instanceof` is false. Use `name`
 * and `code` to tell errors apart.
 *
 * @param error Anything that was thrown.
 *
 * @example
 * if (isReferralError(error) && error.code === 'email_taken') return 'already invited'
 */
export const isReferralError = (error: unknown): error is ReferralError =>
  (error as { [brand]?: true } | null | undefined)?.[brand] === true

/** No response was received: the host is unknown, or the connection was refused, reset or closed. See `cause`. */
export class ConnectionError extends ReferralError {
  declare readonly name: 'ConnectionError'
}

/** An attempt exceeded `timeoutMs`, or the call exceeded `totalTimeoutMs`. */
export class TimeoutError extends ReferralError {
  declare readonly name: 'TimeoutError'
}

/** The caller's signal aborted the call; `cause` is the signal's reason. A write may have been applied. */
export class AbortedError extends ReferralError {
  declare readonly name: 'AbortedError'
}

/** A response that did not come from the API: a proxy's page, a redirect, or a wrong `baseUrl`. */
export class InvalidResponseError extends ReferralError {
  declare readonly response: Response
  declare readonly status: number

  constructor(message: string, details: ErrorDetails & { response: Response }) {
    super('InvalidResponseError', message, details)
    this.status = details.response.status
  }
}

/**
 * The outcome of a write is unknown: the connection was lost or timed out before a usable response arrived, or the API
 * returned 503 `outcome_unknown`. `cause` is the last failure. Call `reconcile()`, or repeat the call with the same
 * content or `idempotencyKey`, also after a restart.
 */
export class UnknownOutcomeError<T = unknown> extends ReferralError {
  readonly #reconcile: (() => Promise<T>) | undefined

  constructor(message: string, details: ErrorDetails, reconcile: (() => Promise<T>) | undefined) {
    super('UnknownOutcomeError', message, details)
    this.#reconcile = reconcile
  }

  /** False when sending the request again could apply it twice. Check the state yourself. */
  get canReconcile(): boolean {
    return this.#reconcile !== undefined
  }

  /**
   * Sends the same request with the same idempotency key: a write that was applied is replayed, one that was not is
   * applied exactly once.
   *
   * @returns What the call would have returned.
   * @throws {UnknownOutcomeError} when the outcome is still unknown, or when the request cannot be repeated.
   *
   * @example
   * const { error } = await client.affiliates.create({ email: 'noor@example.com', name: 'Noor Haddad' }).safe()
   * const affiliate = error instanceof UnknownOutcomeError ? await error.reconcile() : undefined
   */
  reconcile(): Promise<T> {
    return this.#reconcile ? this.#reconcile() : Promise.reject(this)
  }
}

/** An error response of the API. `message` is the API's own; `status` determines the subclass. */
export class ApiError extends ReferralError {
  declare readonly response: Response
  declare readonly status: number

  constructor(name: string, message: string, details: ErrorDetails & { response: Response }, status: number) {
    super(name, message, details)
    this.status = status
  }
}

/** A parameter, a header or the body is missing or invalid. */
export class BadRequestError extends ApiError {
  declare readonly status: 400
}

/** The credential is missing or malformed. */
export class UnauthorizedError extends ApiError {
  declare readonly status: 401
}

/**
 * The API key is unknown, revoked or expired (`key_unknown`, `key_revoked`, `key_expired`), the plan has no API access
 * (`plan_required`), or the key lacks the scope (`scope_missing`).
 */
export class ForbiddenError extends ApiError {
  declare readonly status: 403
}

/** Your shop has no such resource. When creating a payout, nothing in the period is eligible. */
export class NotFoundError extends ApiError {
  declare readonly status: 404
}

/** The path does not support this method. */
export class MethodNotAllowedError extends ApiError {
  declare readonly status: 405
}

/** The resource already exists, is already in this state, or was modified by another request. See `code`. */
export class ConflictError extends ApiError {
  declare readonly status: 409
}

/** The rate limit is exceeded and retries are exhausted. Retry after `rateLimit.resetSeconds`. */
export class RateLimitError extends ApiError {
  declare readonly status: 429
}

/** An internal error of the server. Nothing was written. */
export class InternalServerError extends ApiError {
  declare readonly status: 500
}

/**
 * Storage is unavailable or the API is disabled. Nothing was written. A write whose 503 has the code `outcome_unknown` is
 * an {@link UnknownOutcomeError} instead.
 */
export class ServiceUnavailableError extends ApiError {
  declare readonly status: 503
}

const classes = {
  400: ['BadRequestError', BadRequestError],
  401: ['UnauthorizedError', UnauthorizedError],
  403: ['ForbiddenError', ForbiddenError],
  404: ['NotFoundError', NotFoundError],
  405: ['MethodNotAllowedError', MethodNotAllowedError],
  409: ['ConflictError', ConflictError],
  429: ['RateLimitError', RateLimitError],
  500: ['InternalServerError', InternalServerError],
  503: ['ServiceUnavailableError', ServiceUnavailableError],
} as const

/** Returns the error class of the status, or a plain ApiError for an unlisted status. */
export const toApiError = (
  message: string,
  details: ErrorDetails & { response: Response },
  status = details.response.status,
): ApiError => {
  const [name, Class] = classes[status as keyof typeof classes] ?? ['ApiError', ApiError]
  return new Class(name, message, details, status)
}

/**
 * Returns an error for a response that is neither from the API nor from a proxy that asks to retry later. A 429 or 503 of
 * a proxy is treated like one from the API.
 */
export const checkResponse = (
  response: Response,
  text: string,
  details: ErrorDetails,
  isText = false,
): InvalidResponseError | undefined => {
  const { ok, status } = response
  const json = parseJson(text)
  const isUsable = ok
    ? (json && typeof json === 'object') || isText
    : messageOf(json) || status === 429 || status === 503
  return isUsable ? undefined : invalidResponse(response, details)
}

/** The error for a response that is not from the API. */
export const invalidResponse = (response: Response, details: ErrorDetails): InvalidResponseError => {
  const { status, headers } = response
  const location = headers.get('Location')
  const what = location ? `redirect to ${location}` : headers.get('Content-Type') || 'no content type'
  const message = `The response did not come from the API: ${status}, ${what}. Check baseUrl and any proxy.`
  return new InvalidResponseError(message, { ...details, response })
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the message of an error body. */
export const messageOf = (body: unknown): string | undefined => {
  const { error } = (body ?? {}) as { error?: unknown }
  return typeof error === 'string' ? error : undefined
}

type Failure = { message?: unknown; code?: unknown; cause?: unknown }

/** The innermost cause, because `fetch` itself only reports that it failed. */
const rootOf = (failure: unknown): unknown => {
  const { cause } = (failure ?? {}) as Failure
  return cause == null ? failure : rootOf(cause)
}

/** Why a connection failed. Several refused addresses have no message. */
export const reasonOf = (failure: unknown): { reason: unknown; code: string | undefined } => {
  const root = rootOf(failure)
  const { message, code } = (root ?? {}) as Failure
  return { reason: message || code || root, code: typeof code === 'string' ? code : undefined }
}
