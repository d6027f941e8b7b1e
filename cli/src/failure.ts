import { CliError, type ExitCode, exitCode } from './exit.ts'

/** How a failure is told: to people in lines, to machines as one object. */
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
  credentials_malformed: 'Run `referral login`; the stored key is damaged.',
  key_unknown: 'Run `referral login` with a key of this service. `referral whoami` says where this one is stored.',
  key_revoked: 'Somebody revoked or rotated this key. Make one with `referral keys create` and log in again.',
  key_expired: 'Make a new key with `referral keys create` and log in again.',
  plan_required: "The key is right; the shop's plan has no API access.",
  scope_missing: 'The key is right but may not do this. `referral doctor` lists what it may.',
  rate_limited: 'Add --wait to go on in the next window.',
  api_disabled: 'The operator has switched the API off.',
  concurrent_change: 'Run the command again.',
  payout_mixed_currencies: 'Choose one with --currency.',
  payout_claimed_concurrently: 'Look at `referral payouts list`: another batch has them.',
  webhook_url_refused: 'For a receiver on this machine use `referral webhooks listen --forward-to`.',
}

interface ErrorLike {
  name?: unknown
  status?: unknown
  code?: unknown
  requestId?: unknown
  idempotencyKey?: unknown
}

const text = (value: unknown) => (typeof value === 'string' && value ? value : null)

/** Whatever was thrown, as one failure with its exit code. */
export function toFailure(thrown: unknown): Failure {
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  if (thrown instanceof CliError) {
    const { status = null, code = 'unexpected', hint, requestId = null } = thrown.details
    return { exitCode: thrown.exitCode, status, code, message, hint: hint ?? HINTS[code] ?? null, requestId }
  }
  const { name, status, code, requestId, idempotencyKey } = (thrown ?? {}) as ErrorLike
  const number = typeof status === 'number' ? status : null
  const word = text(code) ?? toSnakeCase(text(name) ?? 'unexpected')
  return {
    exitCode: EXIT_CODE_BY_ERROR_NAME[String(name)] ?? EXIT_CODE_BY_STATUS[number ?? 0] ?? exitCode.unexpected,
    status: number,
    code: word,
    message,
    hint: HINTS[word] ?? hintFor(String(name), text(idempotencyKey)),
    requestId: text(requestId),
  }
}

function hintFor(name: string, key: string | null): string | null {
  if (name === 'ConnectionError' || name === 'TimeoutError') return 'Is the server running? `referral doctor` looks.'
  if (name === 'UnknownOutcomeError' && key)
    return `To repeat it without doing it twice: referral api … -H 'Idempotency-Key: ${key}'`
  return name === 'InvalidResponseError' ? 'Is the address right? `referral whoami` shows it.' : null
}

const toSnakeCase = (name: string) => name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()
