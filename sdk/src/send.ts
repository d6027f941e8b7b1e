import { type Answer, attemptOnce } from './attempt.ts'
import { sleep } from './deadline.ts'
import { AbortedError, ConnectionError, type ErrorFacts, ReferralError } from './errors.ts'
import { version } from './generated/version.ts'
import type { CallOptions, ClientOptions, RequestInfo } from './options.ts'
import { isUncertain, mayHaveArrived, mayRetry, type Retry, retryDelay } from './retry.ts'

/** One request, however often it is sent. */
export interface Job {
  method: string
  url: string
  retry: Retry
  headers: Headers
  body: string | undefined
  options: CallOptions
  /** An earlier call may have done it already. */
  uncertain?: boolean
  /** Success is a text, not JSON. */
  text?: boolean
}

/** An answer, or why there is none. */
export type Tried = { answer: Answer; error?: never } | { answer?: never; error: ReferralError }

/** How a job ended. */
export type Outcome = Tried & {
  attempts: number
  /** Some attempt may have reached the service without its answer reaching us. */
  uncertain: boolean
}

/** What every error of a job carries. */
export const factsOf = ({ headers }: Job): ErrorFacts => ({
  idempotencyKey: headers.get('Idempotency-Key') ?? undefined,
})

const labelOf = ({ method, url }: Job) => `${method} ${new URL(url).pathname}`

const tryOnce = async (client: ClientOptions, job: Job, info: RequestInfo, timeoutMs: number): Promise<Tried> => {
  const started = Date.now()
  client.onRequest?.(info)
  const headers = new Headers(info.headers)
  headers.set('Authorization', `Bearer ${client.apiKey}`)
  headers.set('User-Agent', `referral-sdk/${version}`)
  const init = { method: job.method, headers, body: job.body ?? null }
  const options = {
    fetch: client.fetch ?? globalThis.fetch,
    timeoutMs,
    signal: job.options.signal,
    facts: factsOf(job),
  }
  const tried = await attemptOnce(job.url, init, options).then(
    (answer): Tried => ({ answer }),
    (error): Tried => {
      if (error instanceof ReferralError && !(error instanceof AbortedError)) return { error }
      throw error
    },
  )
  const durationMs = Date.now() - started
  const status = tried.answer?.response.status
  const requestId = tried.answer?.response.headers.get('X-Request-Id') ?? undefined
  client.logger?.debug(`${labelOf(job)} ${status ?? tried.error?.message} ${durationMs} ms ${requestId ?? ''}`)
  if (status) client.onResponse?.({ ...info, status, requestId, durationMs })
  return tried
}

const mayHaveHappened = ({ answer, error }: Tried): boolean =>
  error ? !(error instanceof ConnectionError) || mayHaveArrived(error.cause) : isUncertain(answer.response)

/** Sends a job until it is answered for good, its retries are used up or its time is over. Rejects when aborted. */
export const send = async (client: ClientOptions, job: Job): Promise<Outcome> => {
  const { signal, maxRetries = 2, timeoutMs = 30_000, totalTimeoutMs = Number.POSITIVE_INFINITY } = job.options
  const deadline = Date.now() + totalTimeoutMs
  let uncertain = job.uncertain ?? false
  for (let attempt = 1; ; attempt++) {
    const info = { method: job.method, url: job.url, attempt, headers: new Headers(job.headers) }
    const tried = await tryOnce(client, job, info, Math.min(timeoutMs, deadline - Date.now()))
    uncertain ||= mayHaveHappened(tried)

    const response = tried.answer?.response
    const delayMs = retryDelay(response, attempt)
    if (attempt > maxRetries || !mayRetry(job.retry, response) || Date.now() + delayMs >= deadline)
      return { ...tried, attempts: attempt, uncertain }
    const why = response?.status ?? tried.error?.message
    client.logger?.warn(`${labelOf(job)} ${why}; again in ${Math.round(delayMs)} ms`)
    client.onRetry?.({ ...info, delayMs, status: response?.status, error: tried.error })
    await sleep(delayMs, signal, factsOf(job))
  }
}
