import { type ErrorFacts, ReferralError } from './errors.ts'

/** The API refused or failed (section 7). `message` is its own sentence; `status` tells which class it is. */
export class ApiError extends ReferralError {
  declare readonly response: Response
  readonly status: number

  constructor(name: string, message: string, facts: ErrorFacts & { response: Response }) {
    super(name, message, facts)
    this.status = facts.response.status
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

/** The key is unknown or revoked (`key_unknown`, `key_revoked`), the plan has no API access (`plan_required`), or the scope is missing (`scope_missing`). */
export class ForbiddenError extends ApiError {
  declare readonly status: 403
}

/** Your shop has no such thing; for a payout, nothing to pay in the period. */
export class NotFoundError extends ApiError {
  declare readonly status: 404
}

/** The path exists, the method does not. */
export class MethodNotAllowedError extends ApiError {
  declare readonly status: 405
}

/** It exists already, was done already, or changed meanwhile. `code` says which. */
export class ConflictError extends ApiError {
  declare readonly status: 409
}

/** The window's requests are used up, and so are the retries. `rateLimit.resetSeconds` says when to go on. */
export class RateLimitError extends ApiError {
  declare readonly status: 429
}

/** A bug of the service. Nothing was written. */
export class InternalServerError extends ApiError {
  declare readonly status: 500
}

/** Storage or audit is unavailable, or the API is switched off. Nothing was written. */
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

/** The error of a status: its own class, or a plain ApiError for one this version does not know. */
export const toApiError = (message: string, facts: ErrorFacts & { response: Response }): ApiError => {
  const [name, Class] = classes[facts.response.status as keyof typeof classes] ?? ['ApiError', ApiError]
  return new Class(name, message, facts)
}
