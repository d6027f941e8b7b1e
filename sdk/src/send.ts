import { type Answer, aborted, attemptOnce } from './attempt.ts'
import { within } from './deadline.ts'
import { AbortedError, ConnectionError, ReferralError } from './errors.ts'
import { version } from './operations.ts'
import type { CallOptions, ClientOptions, RequestInfo } from './options.ts'
import { mayHaveArrived, mayRetry, type Retry, retryDelay } from './retry.ts'

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
}

/** How a job ended: an answer or an error. */
export interface Outcome {
  answer: Answer | undefined
  error: ReferralError | undefined
  attempts: number
  /** Some attempt may have reached the service without its answer reaching us. */
  uncertain: boolean
}

const isOwnError = (json: unknown): boolean => typeof (json as { error?: unknown } | null)?.error === 'string'

/** Sends a job until it is answered for good, its retries are used up or its time is over. Rejects when aborted. */
export const send = async (client: ClientOptions, job: Job): Promise<Outcome> => {
  const { method, url, retry, body, options } = job
  const { signal, maxRetries = 2, timeoutMs = 30_000, totalTimeoutMs = Number.POSITIVE_INFINITY } = options
  const facts = { idempotencyKey: job.headers.get('Idempotency-Key') ?? undefined }
  const label = `${method} ${new URL(url).pathname}`
  const deadline = Date.now() + totalTimeoutMs
  let uncertain = job.uncertain ?? false

  for (let attempt = 1; ; attempt++) {
    const started = Date.now()
    const info: RequestInfo = { method, url, attempt, headers: new Headers(job.headers) }
    client.onRequest?.(info)
    const headers = new Headers(info.headers)
    headers.set('Authorization', `Bearer ${client.apiKey}`)
    headers.set('User-Agent', `referral-sdk/${version}`)

    let answer: Answer | undefined
    let error: ReferralError | undefined
    try {
      answer = await attemptOnce(
        url,
        { method, headers, body: body ?? null },
        {
          fetch: client.fetch ?? globalThis.fetch,
          timeoutMs: Math.min(timeoutMs, deadline - started),
          signal,
          facts,
        },
      )
    } catch (caught) {
      if (!(caught instanceof ReferralError) || caught instanceof AbortedError) throw caught
      error = caught
    }

    const response = answer?.response
    const status = response?.status
    const requestId = response?.headers.get('X-Request-Id') ?? undefined
    const durationMs = Date.now() - started
    client.logger?.debug(`${label} ${status ?? error?.message} ${durationMs} ms ${requestId ?? ''}`)
    if (status) client.onResponse?.({ ...info, status, requestId, durationMs })
    uncertain ||= error
      ? !(error instanceof ConnectionError) || mayHaveArrived(error.cause)
      : status! >= 500 && status !== 503 && !isOwnError(answer?.json)

    const delayMs = retryDelay(response, attempt)
    if (attempt > maxRetries || !mayRetry(retry, status) || Date.now() + delayMs >= deadline)
      return { answer, error, attempts: attempt, uncertain }
    client.logger?.warn(`${label} ${status ?? error?.message}; again in ${Math.round(delayMs)} ms`)
    client.onRetry?.({ ...info, delayMs, status, error })
    await sleep(delayMs, signal, () => aborted(signal, facts))
  }
}

const sleep = (ms: number, signal: AbortSignal | undefined, onAbort: () => Error) => {
  let timer: ReturnType<typeof setTimeout>
  return within(() => new Promise<void>((resolve) => (timer = setTimeout(resolve, ms))), Number.POSITIVE_INFINITY, {
    signal,
    onTimeout: onAbort,
    onAbort,
  }).finally(() => clearTimeout(timer))
}
