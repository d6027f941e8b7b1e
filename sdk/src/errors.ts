import { type RateLimit, readRateLimit } from './rate-limit.ts'
import type { components } from './schema.ts'

/** The closed list of this version of the API, open for later ones. */
export type ErrorCode = components['schemas']['ErrorCode'] | (string & {})

/** What is known of the call that failed. */
export interface ErrorFacts {
  cause?: unknown
  response?: Response
  idempotencyKey?: string | undefined
}

/** Every failure of a call, whatever its kind. */
export class ReferralError extends Error {
  /** The cause in one word (`X-Error-Code`). */
  readonly code: ErrorCode | undefined
  /** `X-Request-Id`: quote it when you ask for help. */
  readonly requestId: string | undefined
  readonly rateLimit: RateLimit | undefined
  /** The answer, when one came. Its body has been read. */
  declare readonly response: Response | undefined
  /** The key the write carried: send it again to repeat the write without doing it twice. */
  readonly idempotencyKey: string | undefined

  constructor(name: string, message: string, { cause, response, idempotencyKey }: ErrorFacts) {
    super(message, cause === undefined ? {} : { cause })
    this.name = name
    this.code = response?.headers.get('X-Error-Code') ?? undefined
    this.requestId = response?.headers.get('X-Request-Id') ?? undefined
    this.rateLimit = response && readRateLimit(response)
    // Not enumerable, so that logging an error does not print a whole response.
    Object.defineProperty(this, 'response', { value: response })
    this.idempotencyKey = idempotencyKey
  }
}

/** No answer came: the name is unknown, the connection was refused, reset or cut off. `cause` says which. */
export class ConnectionError extends ReferralError {
  constructor(message: string, facts: ErrorFacts) {
    super('ConnectionError', message, facts)
  }
}

/** An attempt or the whole call took longer than allowed. */
export class TimeoutError extends ReferralError {
  constructor(message: string, facts: ErrorFacts) {
    super('TimeoutError', message, facts)
  }
}

/** The caller's signal ended the call; `cause` is the signal's reason. A write may have happened all the same. */
export class AbortedError extends ReferralError {
  constructor(message: string, facts: ErrorFacts) {
    super('AbortedError', message, facts)
  }
}

/** An answer came, but not from the API: the page of a proxy, a redirect, a wrong `baseUrl`. */
export class InvalidResponseError extends ReferralError {
  declare readonly response: Response
  readonly status: number

  constructor(message: string, facts: ErrorFacts & { response: Response }) {
    super('InvalidResponseError', message, facts)
    this.status = facts.response.status
  }
}
