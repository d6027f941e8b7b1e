import { AbortedError, ConnectionError, type ErrorDetails, ReferralError, TimeoutError } from './errors.ts'
import { version } from './generated/version.ts'
import type { CallOptions, ClientOptions, RequestInfo } from './options.ts'
import { isOutcomeUnknown, mayHaveReachedServer, mayRetry, type RetryPolicy, retryDelay } from './retry.ts'

/** A request with everything that stays the same over all attempts, its idempotency key included. */
export interface PreparedRequest {
  method: string
  url: string
  retryPolicy: RetryPolicy
  headers: Headers
  body: string | undefined
  options: CallOptions
  /** An earlier call may have applied this write already. */
  mayBeApplied?: boolean
  /** A successful response is text, not JSON. */
  expectsText?: boolean
}

/** A response whose body has been read. `json` is undefined when the body is not JSON. */
export interface ReceivedResponse {
  response: Response
  text: string
  json: unknown
}

/** The response to an attempt, or why there is none. */
export type AttemptResult = { received: ReceivedResponse; error?: never } | { received?: never; error: ReferralError }

/** The result of the last attempt. */
export type SendResult = AttemptResult & {
  attempts: number
  /** A write may have been applied by an attempt whose response was lost. */
  mayBeApplied: boolean
}

/** The details that every error of a request carries. */
export const errorDetails = ({ headers }: PreparedRequest): ErrorDetails => ({
  idempotencyKey: headers.get('Idempotency-Key') ?? undefined,
})

/**
 * Sends a request until it gets a final response, or until retries or time run out.
 *
 * @throws {AbortedError} when the signal is aborted. Every other failure is returned.
 */
export const sendWithRetries = async (clientOptions: ClientOptions, request: PreparedRequest): Promise<SendResult> => {
  const { signal, maxRetries = 2, timeoutMs = 30_000, totalTimeoutMs = Number.POSITIVE_INFINITY } = request.options
  const deadline = Date.now() + totalTimeoutMs
  let mayBeApplied = request.mayBeApplied ?? false
  for (let attempt = 1; ; attempt++) {
    const info = { method: request.method, url: request.url, attempt, headers: new Headers(request.headers) }
    const result = await sendOnce(clientOptions, request, info, Math.min(timeoutMs, deadline - Date.now()))
    mayBeApplied ||= mayHaveBeenApplied(result)

    const response = result.received?.response
    const delayMs = retryDelay(response, attempt)
    if (attempt > maxRetries || !mayRetry(request.retryPolicy, response) || Date.now() + delayMs >= deadline)
      return { ...result, attempts: attempt, mayBeApplied }
    const reason = response?.status ?? result.error?.message
    clientOptions.logger?.warn(`${labelOf(request)} ${reason}; retrying in ${Math.round(delayMs)} ms`)
    clientOptions.onRetry?.({ ...info, delayMs, status: response?.status, error: result.error })
    await sleep(delayMs, signal, errorDetails(request))
  }
}

const labelOf = ({ method, url }: PreparedRequest) => `${method} ${new URL(url).pathname}`

const mayHaveBeenApplied = ({ received, error }: AttemptResult): boolean =>
  error ? !(error instanceof ConnectionError) || mayHaveReachedServer(error.cause) : isOutcomeUnknown(received.response)

/** Makes one attempt and calls the hooks and the logger. */
const sendOnce = async (
  clientOptions: ClientOptions,
  request: PreparedRequest,
  info: RequestInfo,
  timeoutMs: number,
): Promise<AttemptResult> => {
  const startedAt = Date.now()
  clientOptions.onRequest?.(info)
  const headers = new Headers(info.headers)
  headers.set('Authorization', `Bearer ${clientOptions.apiKey}`)
  headers.set('User-Agent', `referral-sdk/${version}`)
  const result = await fetchResponse(clientOptions, request, headers, timeoutMs).then(
    (received): AttemptResult => ({ received }),
    (error): AttemptResult => {
      if (error instanceof ReferralError && !(error instanceof AbortedError)) return { error }
      throw error
    },
  )
  const durationMs = Date.now() - startedAt
  const status = result.received?.response.status
  const requestId = result.received?.response.headers.get('X-Request-Id') ?? undefined
  clientOptions.logger?.debug(
    `${labelOf(request)} ${status ?? result.error?.message} ${durationMs} ms ${requestId ?? ''}`,
  )
  if (status) clientOptions.onResponse?.({ ...info, status, requestId, durationMs })
  return result
}

/**
 * Fetches once and reads the whole body.
 *
 * @throws {AbortedError | TimeoutError | ConnectionError}
 */
const fetchResponse = (
  clientOptions: ClientOptions,
  request: PreparedRequest,
  headers: Headers,
  timeoutMs: number,
): Promise<ReceivedResponse> => {
  const fetchImpl = clientOptions.fetch ?? globalThis.fetch
  const { method, url, body = null, options } = request
  const details = errorDetails(request)
  return withDeadline(
    async (signal) => {
      // Redirects are not followed: they would send the key elsewhere and turn a POST into a GET.
      const init = { method, headers, body, signal, redirect: 'manual' } as const
      const outgoing = new Request(url, init)
      try {
        const response = await fetchImpl(outgoing)
        const text = await response.text()
        return { response, text, json: parseJson(text) }
      } catch (cause) {
        throw new ConnectionError(`Connection to ${new URL(url).origin} failed: ${reasonOf(cause)}`, {
          ...details,
          cause,
        })
      }
    },
    {
      signal: options.signal,
      details,
      timeoutMs,
      onTimeout: () => new TimeoutError(`No response within ${timeoutMs} ms.`, details),
    },
  )
}

/** The innermost cause, because `fetch` itself only reports that it failed. Several refused addresses have no message. */
const reasonOf = (failure: unknown): unknown => {
  const { message, code, cause } = (failure ?? {}) as { message?: unknown; code?: unknown; cause?: unknown }
  return cause == null ? message || code || failure : reasonOf(cause)
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface DeadlineOptions {
  signal: AbortSignal | undefined
  details: ErrorDetails
  timeoutMs: number
  /** Creates the error to throw on timeout. */
  onTimeout: () => Error
}

/** Runs a task until it settles, times out or is aborted, even when the task ignores its own signal. */
const withDeadline = async <T>(task: (signal: AbortSignal) => Promise<T>, options: DeadlineOptions): Promise<T> => {
  const { signal, details, timeoutMs, onTimeout } = options
  const controller = new AbortController()
  const abort = () =>
    controller.abort(new AbortedError('The call was aborted by its signal.', { ...details, cause: signal?.reason }))
  if (signal?.aborted) abort()
  controller.signal.throwIfAborted()
  signal?.addEventListener('abort', abort)
  // setTimeout fires at once for a delay above 2^31 - 1.
  const timer = setTimeout(() => controller.abort(onTimeout()), Math.min(timeoutMs, 2 ** 31 - 1))
  try {
    return await new Promise<T>((resolve, reject) => {
      controller.signal.addEventListener('abort', () => reject(controller.signal.reason))
      task(controller.signal).then(resolve, reject)
    })
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}

/**
 * Waits for the given milliseconds.
 *
 * @throws {AbortedError} as soon as the signal is aborted.
 */
const sleep = async (ms: number, signal: AbortSignal | undefined, details: ErrorDetails): Promise<void> => {
  const elapsed = new Error()
  const never = () => new Promise<never>(() => {})
  await withDeadline(never, { signal, details, timeoutMs: ms, onTimeout: () => elapsed }).catch((error) => {
    if (error !== elapsed) throw error
  })
}
