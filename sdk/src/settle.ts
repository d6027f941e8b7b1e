import type { Answer } from './attempt.ts'
import { type ErrorFacts, InvalidResponseError, type ReferralError } from './errors.ts'
import { factsOf, type Job, type Outcome } from './send.ts'
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

/** The error an answer stands for, or undefined for a success. A 429 or 503 of a proxy means the same as the API's. */
const toError = ({ response, json }: Answer, job: Job): ReferralError | undefined => {
  const { ok, status } = response
  const body = typeof json === 'object' ? (json as { error?: unknown } | null) : undefined
  if (ok && (body || job.text)) return undefined
  const sentence = typeof body?.error === 'string' ? body.error : undefined
  const facts = factsOf(job)
  return !ok && (sentence || status === 429 || status === 503)
    ? toApiError(sentence ?? `The service answered ${status}.`, { ...facts, response })
    : invalid(response, facts)
}

// After a lost answer: had a keyed write happened, it would have been replayed instead of refused. A repeated one may
// be refused because it happened, unless the state was looked at.
const isConclusive = (error: ReferralError, { retry }: Job, isJudged: boolean) =>
  error instanceof ApiError &&
  (error.status === 400 || ([404, 409].includes(error.status) && (retry !== 'repeatable' || isJudged)))

/** How what nobody knows can be found out, and whether somebody looks at the state after a refusal. */
export interface Means {
  reconcile: () => Promise<unknown>
  isJudged: boolean
}

/** What the outcome of a job means: the error to throw, or undefined. */
export const settle = (
  job: Job,
  { answer, error, uncertain }: Outcome,
  { reconcile, isJudged }: Means,
): ReferralError | undefined => {
  const cause = error ?? toError(answer, job)
  if (!cause || job.retry === 'safe' || !uncertain || isConclusive(cause, job, isJudged)) return cause
  return unknown(job, cause, reconcile)
}

/** The error for a write that nobody knows the outcome of. */
export const unknown = (job: Job, cause: Error, reconcile: Means['reconcile']): UnknownOutcomeError => {
  const message = `Nobody knows whether it happened: ${cause.message}`
  return new UnknownOutcomeError(message, { ...factsOf(job), cause }, job.retry === 'never' ? undefined : reconcile)
}
