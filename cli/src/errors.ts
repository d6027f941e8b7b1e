import { UnreadableFileError } from '@referral/server/unreadable-file'

/** Process exit codes. Scripts branch on them, so their meanings never change. */
export const exitCode = {
  done: 0,
  unexpected: 1,
  usage: 2,
  notFound: 3,
  auth: 4,
  conflict: 5,
  rateLimited: 6,
  unavailable: 7,
  partial: 8,
  confirmation: 9,
  interrupted: 130,
} as const

export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

/** The exit codes in REFERENCE.md. */
export const exitCodeMeanings: Record<ExitCode, string> = {
  0: 'success, including when the change was already in place',
  1: 'unexpected error',
  2: 'invalid usage, or the API rejected the request as invalid',
  3: 'not found, or nothing to do',
  4: 'missing credential, or one without the required access',
  5: 'conflict: a duplicate, a concurrent change, or a state that does not allow the action',
  6: 'rate limited',
  7: 'service unavailable',
  8: 'partial failure; the report is on standard output',
  9: 'confirmation required or declined',
  130: 'interrupted',
}

export interface ErrorDetails {
  /** The HTTP status, if the API responded. */
  status?: number | null
  /** A machine-readable code: the API's `X-Error-Code`, or one of the CLI's own. */
  code?: string
  /** The remedy. */
  hint?: string | undefined
  requestId?: string | null
}

/** An error with a message for the user and the process's exit code. */
export class CliError extends Error {
  readonly exitCode: ExitCode
  readonly details: ErrorDetails

  constructor(code: ExitCode, message: string, details: ErrorDetails = {}) {
    super(message)
    this.name = 'CliError'
    this.exitCode = code
    this.details = details
  }
}

export const usageError = (message: string, hint?: string) =>
  new CliError(exitCode.usage, message, { code: 'usage', hint })

/** Reads a user's file. @throws {CliError} usage, for a file that cannot be read. */
export function asUsageError<Read>(read: () => Read): Read {
  try {
    return read()
  } catch (error) {
    throw error instanceof UnreadableFileError ? usageError(error.message, error.hint) : error
  }
}

export const notFoundError = (message: string, hint?: string) =>
  new CliError(exitCode.notFound, message, { code: 'not_found', hint })

/** A failure's printed form: lines, or one JSON object without `exitCode`. */
export interface Failure {
  exitCode: ExitCode
  status: number | null
  code: string
  message: string
  hint: string | null
  requestId: string | null
}

const EXIT_CODE_BY_STATUS: Record<number, ExitCode> = {
  400: exitCode.usage,
  401: exitCode.auth,
  403: exitCode.auth,
  404: exitCode.notFound,
  409: exitCode.conflict,
  429: exitCode.rateLimited,
  502: exitCode.unavailable,
  503: exitCode.unavailable,
  504: exitCode.unavailable,
}

const EXIT_CODE_BY_ERROR_NAME: Record<string, ExitCode> = {
  ConnectionError: exitCode.unavailable,
  TimeoutError: exitCode.unavailable,
  UnknownOutcomeError: exitCode.unavailable,
  AbortedError: exitCode.interrupted,
}

const HINTS: Record<string, string> = {
  credentials_missing: 'Run `referral login`.',
  credentials_malformed: 'The stored key is damaged. Run `referral login`.',
  key_unknown:
    'Run `referral login` with a key of this service. `referral whoami` shows where the current one is stored.',
  key_revoked: 'This key was revoked or rotated. Create one with `referral keys create` and log in again.',
  key_expired: 'Create a new key with `referral keys create` and log in again.',
  plan_required: "The key is valid, but the shop's plan does not include API access.",
  scope_missing: 'The key is valid but lacks this scope. `referral doctor` lists its scopes.',
  rate_limited: 'Add --wait to continue in the next window.',
  api_disabled: 'The operator has turned the API off.',
  concurrent_change: 'Run the command again.',
  payout_mixed_currencies: 'Choose one with --currency.',
  payout_claimed_concurrently: 'Another batch contains these commissions. Run `referral payouts list`.',
  webhook_url_refused: 'For a receiver on this machine, use `referral webhooks listen --forward-to`.',
}

interface ErrorLike {
  name?: unknown
  status?: unknown
  code?: unknown
  requestId?: unknown
  idempotencyKey?: unknown
}

const textOrNull = (value: unknown) => (typeof value === 'string' && value ? value : null)

/** Converts anything that was thrown to a failure with an exit code. */
export function toFailure(thrown: unknown): Failure {
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  if (thrown instanceof CliError) {
    const { status = null, code = 'unexpected', hint, requestId = null } = thrown.details
    return { exitCode: thrown.exitCode, status, code, message, hint: hint ?? HINTS[code] ?? null, requestId }
  }
  const error = (thrown ?? {}) as ErrorLike
  const name = String(error.name)
  const status = typeof error.status === 'number' ? error.status : null
  const code = textOrNull(error.code) ?? toSnakeCase(textOrNull(error.name) ?? 'unexpected')
  return {
    exitCode: EXIT_CODE_BY_ERROR_NAME[name] ?? EXIT_CODE_BY_STATUS[status ?? 0] ?? exitCode.unexpected,
    status,
    code,
    message,
    hint: HINTS[code] ?? hintFor(name, textOrNull(error.idempotencyKey)),
    requestId: textOrNull(error.requestId),
  }
}

function hintFor(name: string, key: string | null): string | null {
  if (name === 'ConnectionError' || name === 'TimeoutError')
    return 'Check that the server is running, for example with `referral doctor`.'
  if (name === 'UnknownOutcomeError' && key)
    return `To retry without applying it twice: referral api … -H 'Idempotency-Key: ${key}'`
  return name === 'InvalidResponseError' ? 'Check the address with `referral whoami`.' : null
}

const toSnakeCase = (name: string) => name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()

/** The error for a response that the SDK did not convert. */
export function apiError(message: string, response: Response): CliError {
  const code = response.headers.get('X-Error-Code') ?? `http_${response.status}`
  const failure = toFailure(Object.assign(new Error(message), { status: response.status, code }))
  const requestId = response.headers.get('X-Request-Id')
  return new CliError(failure.exitCode, message, { status: response.status, code, requestId })
}

/** Returns the data of a raw call. @throws {CliError} when the API returned an error. */
export function unwrap<T>(result: { data?: T; error?: { error: string }; response: Response }): T {
  if (result.error) throw apiError(result.error.error, result.response)
  return result.data as T
}
