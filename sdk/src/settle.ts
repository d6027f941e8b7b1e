import type { Answer } from './attempt.ts'
import { type ErrorFacts, InvalidResponseError, type ReferralError } from './errors.ts'
import type { Outcome } from './send.ts'
import { ApiError, toApiError } from './status-errors.ts'
import { UnknownOutcomeError } from './unknown-outcome.ts'

const invalid = (response: Response, facts: ErrorFacts) => {
  const to = response.headers.get('Location')
  const what = to ? `a redirect to ${to}` : (response.headers.get('Content-Type') ?? 'no content type')
  return new InvalidResponseError(`Not an answer of the API: ${response.status}, ${what}. Is baseUrl right?`, {
    ...facts,
    response,
  })
}

/** The error an answer stands for, or undefined when it is a success. 429 and 503 may come from a proxy as well. */
const toError = ({ response, json }: Answer, facts: ErrorFacts): ReferralError | undefined => {
  const isObject = typeof json === 'object' && json !== null
  if (response.ok && isObject) return undefined
  const sentence = isObject && 'error' in json && typeof json.error === 'string' ? json.error : undefined
  const { status } = response
  return !response.ok && (sentence || status === 429 || status === 503)
    ? toApiError(sentence ?? `The service answered ${status}.`, { ...facts, response })
    : invalid(response, facts)
}

// After a lost answer these say that the write did not happen: had it happened, it would have been replayed.
const conclusive = (error: ReferralError) => error instanceof ApiError && [400, 404, 409].includes(error.status)

/** What the outcome of a job means: the error to throw, or undefined. */
export const settle = (
  { answer, error, uncertain }: Outcome,
  facts: ErrorFacts,
  reconcile: (() => Promise<unknown>) | undefined,
  isRead: boolean,
): ReferralError | undefined => {
  const cause = error ?? toError(answer!, facts)
  if (!cause || isRead || !uncertain || conclusive(cause)) return cause
  return new UnknownOutcomeError(`Nobody knows whether it happened: ${cause.message}`, { ...facts, cause }, reconcile)
}
