import { CliError, type Exit, exit } from './exit.ts'

/** How a failure is told: to people in lines, to machines as one object. */
export interface Failure {
  exit: Exit
  status: number | null
  code: string
  message: string
  hint: string | null
  requestId: string | null
}

const BY_STATUS: Record<number, Exit> = {
  400: exit.usage,
  401: exit.auth,
  403: exit.auth,
  404: exit.notFound,
  409: exit.conflict,
  429: exit.rateLimited,
  502: exit.unavailable,
  503: exit.unavailable,
  504: exit.unavailable,
}

const BY_NAME: Record<string, Exit> = {
  ConnectionError: exit.unavailable,
  TimeoutError: exit.unavailable,
  UnknownOutcomeError: exit.unavailable,
  AbortedError: exit.interrupted,
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

interface Shape {
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
    const { status = null, code = 'unexpected', hint, requestId = null } = thrown.facts
    return { exit: thrown.exit, status, code, message, hint: hint ?? HINTS[code] ?? null, requestId }
  }
  const { name, status, code, requestId, idempotencyKey } = (thrown ?? {}) as Shape
  const number = typeof status === 'number' ? status : null
  const word = text(code) ?? snake(text(name) ?? 'unexpected')
  return {
    exit: BY_NAME[String(name)] ?? BY_STATUS[number ?? 0] ?? exit.unexpected,
    status: number,
    code: word,
    message,
    hint: HINTS[word] ?? hintOf(String(name), text(idempotencyKey)),
    requestId: text(requestId),
  }
}

function hintOf(name: string, key: string | null): string | null {
  if (name === 'ConnectionError' || name === 'TimeoutError') return 'Is the server running? `referral doctor` looks.'
  if (name === 'UnknownOutcomeError' && key)
    return `To repeat it without doing it twice: referral api … -H 'Idempotency-Key: ${key}'`
  return name === 'InvalidResponseError' ? 'Is the address right? `referral whoami` shows it.' : null
}

const snake = (name: string) => name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()
