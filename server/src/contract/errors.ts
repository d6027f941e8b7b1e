import type { components } from './schema.d.ts'

export type ErrorCode = components['schemas']['ErrorCode']
export type ErrorStatus = 400 | 401 | 403 | 404 | 405 | 409 | 429 | 500 | 503

interface ErrorOptions {
  retryAfter?: number
  headers?: Record<string, string>
  problem?: string
  field?: string
  rule?: string
  cause?: unknown
}

/** An error the caller can act on, sent as `{ error }` with the header `X-Error-Code`. */
export class ApiError extends Error {
  readonly status: ErrorStatus
  readonly code: ErrorCode
  /** Seconds for `Retry-After`. */
  readonly retryAfter: number | undefined
  /** Machine-readable details, as documented headers. */
  readonly headers: Record<string, string>
  /** The problem without the remedy, if the message contains both. */
  readonly problem: string | undefined
  /** The invalid property or parameter as the API names it: `debtor.iban`. */
  readonly field: string | undefined
  /**
   * The rule that the field breaks, without its name: `must not be in the past.` Pages put their own label in front.
   */
  readonly rule: string | undefined

  constructor(status: ErrorStatus, code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.status = status
    this.code = code
    this.retryAfter = options.retryAfter
    this.headers = options.headers ?? {}
    this.problem = options.problem
    this.field = options.field
    this.rule = options.rule
  }
}

export const invalid = (code: ErrorCode, message: string) => new ApiError(400, code, message)

/** 400 for a field that breaks a rule: `must not be in the past.` */
export const invalidField = (code: ErrorCode, field: string, rule: string) =>
  new ApiError(400, code, `${field} ${rule}`, { field, rule })
export const invalidBody = (message: string) => invalid('invalid_body', message)

/** 400 `invalid_body` for text that the database cannot store unchanged. */
export const unstorableText = () => invalidBody('Text must not contain the character U+0000 or a lone surrogate.')
export const forbidden = (code: ErrorCode, message: string) => new ApiError(403, code, message)
export const notFound = (code: ErrorCode, message: string) => new ApiError(404, code, message)
/** @param field the conflicting field, if a caller can change it */
export const conflict = (code: ErrorCode, message: string, field?: string) =>
  new ApiError(409, code, message, field === undefined ? {} : { field })

/** Two sentences: what is wrong, and what an API caller can do. Pages have their own remedy. */
export const conflictWithRemedy = (
  code: ErrorCode,
  { problem, remedy, ...options }: ErrorOptions & { problem: string; remedy: string },
) => new ApiError(409, code, `${problem} ${remedy}`, { ...options, problem })

export const concurrentChange = (cause?: unknown) =>
  conflictWithRemedy('concurrent_change', {
    problem: 'This resource was modified by another request.',
    remedy: 'Fetch it again and retry.',
    cause,
  })

/** A large batch's commissions are being moved. `mutate` retries such a change for some seconds. */
export const payoutProcessing = () =>
  conflictWithRemedy('payout_processing', {
    problem: 'The commissions of this payout batch are being changed.',
    remedy: 'Retry when the batch is no longer PROCESSING.',
  })

/** A report's totals exceed the largest exact integer, so rounding would lose cents. */
export const totalTooLarge = (remedy = 'Choose a shorter period.') =>
  conflict(
    'total_too_large',
    `These amounts add up to more than ${Number.MAX_SAFE_INTEGER} cents, the largest total that can be represented exactly. ${remedy}`,
  )

export const affiliateNotFound = () => notFound('affiliate_not_found', 'No affiliate with this id exists in your shop.')
export const programNotFound = () => notFound('program_not_found', 'No program with this id exists in your shop.')

export const storageUnavailable = (cause?: unknown) =>
  new ApiError(503, 'storage_unavailable', 'The database is unavailable and nothing was changed. Retry in a moment.', {
    retryAfter: 1,
    cause,
  })

export const tooManyReports = (cause?: unknown) =>
  new ApiError(503, 'server_busy', 'Too many reports are queued for your shop. Retry in a moment.', {
    retryAfter: 1,
    cause,
  })

export const reportTooSlow = (cause?: unknown) =>
  new ApiError(
    503,
    'server_busy',
    'This request took too long to compute and was stopped. Request a shorter period or fewer rows, or retry when the server is less busy.',
    { retryAfter: 60, cause },
  )

/** The only 503 after which the change may have been applied. `isKeyed`: the request had an `Idempotency-Key`. */
export function outcomeUnknown(isKeyed: boolean, cause?: unknown): ApiError {
  const problem =
    'Outcome unknown: the database connection was lost during the commit, so the change may have been applied.'
  const remedy = isKeyed
    ? 'Retry with the same Idempotency-Key, or fetch the resource first.'
    : 'Fetch the resource before you retry.'
  return new ApiError(503, 'outcome_unknown', `${problem} ${remedy}`, { retryAfter: 1, problem, cause })
}

export const auditUnavailable = (cause?: unknown) =>
  new ApiError(
    503,
    'audit_unavailable',
    'The audit record could not be written, so nothing was changed. Retry in a moment.',
    {
      retryAfter: 1,
      cause,
    },
  )

export const shopSuspended = () =>
  forbidden('shop_suspended', 'This shop is suspended. Ask the operator of the server.')

/** Stores send a notification again after 503. */
export const storeSuspended = () =>
  new ApiError(503, 'store_notifications_suspended', 'This shop is suspended. Send the notification again later.', {
    retryAfter: 3600,
  })

export const shopNotFound = () => notFound('shop_not_found', 'No shop with this id exists.')
export const pathUnknown = () => notFound('path_unknown', 'No such path.')

export const apiDisabled = () =>
  new ApiError(503, 'api_disabled', 'The API is disabled. Retry later.', { retryAfter: 60 })

const MIB = 1024 * 1024
const formatSize = (bytes: number): string => (bytes < MIB ? `${bytes / 1024} KiB` : `${bytes / MIB} MiB`)

export const bodyTooLarge = (limit: number) =>
  invalid('body_too_large', `The request body is larger than ${formatSize(limit)}.`)

/** The limits are in http/read-body.ts. */
export const bodyTimeout = () =>
  invalid(
    'body_timeout',
    'The request body did not arrive in time. Send it within 30 seconds, without pausing for 10 seconds or more.',
  )

/** The request was rejected before its body was read in full. */
export const serverBusy = () =>
  new ApiError(503, 'server_busy', 'The server is receiving too much data at once. Retry in a moment.', {
    retryAfter: 1,
  })

/** `reset`: seconds until the window ends. */
export const rateLimited = ({ reset }: { reset: number }) =>
  new ApiError(429, 'rate_limited', `Too many requests. Retry in ${reset} seconds.`, { retryAfter: reset })

/** A bug in the server. Details are in the log only. */
export const internalError = () => new ApiError(500, 'internal_error', 'Internal error')
