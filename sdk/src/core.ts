import createClient, { type Client } from 'openapi-fetch'
import { makeAttempt } from './attempt.ts'
import {
  AbortedError,
  ApiError,
  type ErrorDetails,
  invalidResponse,
  messageOf,
  ReferralError,
  TimeoutError,
  toApiError,
  UnknownOutcomeError,
} from './errors.ts'
import { operations } from './generated/operations.ts'
import { createObserver, sleep } from './hooks.ts'
import { type AttemptInfo, type ClientOptions, checkLimits, checkOptions, type WriteOptions } from './options.ts'
import {
  createPacer,
  headerOf,
  mayRetry,
  type RateLimit,
  type RetryPolicy,
  readRateLimit,
  retryDelay,
} from './retry.ts'
import type { paths } from './schema.ts'

/** The data of a call together with its response. */
export interface WithResponse<T> {
  data: T
  /** Status and headers. The body has been read. */
  response: Response
  /** `X-Request-Id`. Include it in support requests. */
  requestId: string | undefined
  rateLimit: RateLimit | undefined
  /** True when the server returned the stored response of an earlier request with the same idempotency key. */
  idempotentReplayed: boolean
  /** True when an earlier attempt applied the write and its response was lost; `data` is then read from the current state. */
  recovered: boolean
  /** The number of times the request was sent. */
  attempts: number
}

/** What a call passes to a method of openapi-fetch. */
export type CallInit<Query, Body> = {
  params: { query: Query }
  body: Body
  headers: Record<string, string | undefined>
  fetch: (request: Request) => Promise<Response>
}

/** The result of a method of openapi-fetch. */
export interface FetchResult<Reply> {
  data?: Reply
  error?: unknown
  response: Response
}

/** How to make a call. */
export interface CallInput<Query, Body, Reply, Data> {
  query?: Query
  body?: Body
  options: WriteOptions | undefined
  /** Calls a method of openapi-fetch. */
  send: (init: CallInit<Query, Body>) => Promise<FetchResult<Reply>>
  /** Picks the part of a response body to return, undefined when the body lacks a documented property. */
  pick: (reply: Reply, response: Response, details: ErrorDetails) => Data | undefined
  /** Derives the idempotency key when the caller passes none. */
  deriveKey?: (() => Promise<string>) | undefined
  /**
   * Called when a write is rejected after an attempt whose response was lost. Returns the current state when the lost
   * attempt applied the write, undefined when it did not.
   */
  recover?: ((rejection: ApiError) => Promise<Data | undefined>) | undefined
  /** Maps the result of a call to that of `reconcile()`. */
  reconciled?: (result: Promise<WithResponse<Data>>) => Promise<unknown>
  /** Leaves the body of a success unread, for `asResponse()`. */
  isStreamed?: boolean | undefined
}

/** Makes the calls of all resources, with one API key to one server. */
export interface Core {
  /** openapi-fetch. Each call passes it a `fetch` that retries. */
  readonly api: Client<paths>
  /** The rate limit window of the last response, undefined before the first. */
  readonly rateLimit: RateLimit | undefined
  /** Warns through the logger, without one through the console. */
  warn(message: string): void
  /** Makes a call. `mayBeApplied` is true when an earlier call may have applied the write already. */
  run<Query, Body, Reply, Data>(
    input: CallInput<Query, Body, Reply, Data>,
    mayBeApplied?: boolean,
  ): Promise<WithResponse<Data>>
}

/** A request with its path in openapi.yaml, before parameters were filled in. */
type OperationRequest = Request & { schemaPath: string }

const KEY_HEADER = 'Idempotency-Key'

/** The data of a call alone. */
export const dataOf = async <T>(result: Promise<WithResponse<T>>): Promise<T> => (await result).data

/**
 * Creates what a single resource needs, so that unused resources are tree-shaken.
 *
 * @param given A client's options.
 * @throws {TypeError} when an option is missing or malformed, or in a browser.
 *
 * @example
 * const api = events(createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: 'https://referrals.example.com' }))
 * await api.click({ ref: 'nisa-karim' })
 */
export const createCore = (given: ClientOptions = {}): Core => {
  const options = checkOptions(given)
  const { log, notify, warn } = createObserver(options)
  const { maxRequestsPerMinute: pace } = options
  const pacer = pace === undefined ? undefined : createPacer(pace)
  let rateLimit: RateLimit | undefined

  const api = createClient<paths>({
    baseUrl: options.baseUrl,
    headers: { Accept: 'application/json', ...options.headers },
  })
  api.use({ onRequest: ({ request, schemaPath }) => Object.assign(request, { schemaPath }) })

  const run: Core['run'] = async (input, mayBeApplied = false) => {
    const { pick, recover, reconciled = dataOf, isStreamed, options: callOptions = {} } = input
    const { signal, headers, idempotencyKey = await input.deriveKey?.() } = callOptions
    const { maxRetries = options.maxRetries, timeoutMs = options.timeoutMs } = callOptions
    const { totalTimeoutMs = options.totalTimeoutMs } = callOptions
    checkLimits(callOptions)
    const startedAt = Date.now()
    const deadline = startedAt + totalTimeoutMs
    const details: ErrorDetails = { idempotencyKey }
    const state = {}
    let attempts = 0
    let path = ''
    let info: AttemptInfo = { method: '', path, url: '', state, attempt: 0, headers: new Headers() }
    let policy: RetryPolicy = 'never'
    let isText: boolean | undefined

    /**
     * Sends a request until it gets a final response, or until retries or time run out. Returns a success or an error of
     * the API.
     *
     * @throws {ReferralError} when there is no such response.
     */
    const fetchWithRetries = async (request: Request): Promise<Response> => {
      const { method, url, headers } = request
      path = (request as OperationRequest).schemaPath
      ;[policy, isText] = operations[`${method} ${path}`] ?? ['never']
      Object.assign(details, { method, path })
      const body = await request.text()
      if (policy === 'keyed' && !headers.has(KEY_HEADER)) headers.set(KEY_HEADER, crypto.randomUUID())
      details.idempotencyKey = headers.get(KEY_HEADER) ?? undefined
      const label = `${method} ${path}`

      for (let retries = 0; ; retries++) {
        for (let pause = pacer?.acquire(); pause; pause = pacer?.acquire()) {
          const left = deadline - Date.now()
          if (left <= 0) throw new TimeoutError('TimeoutError', 'No time left to wait for the rate limit.', details)
          await sleep(Math.min(left, pause.ms), signal, details, pause.until)
        }
        info = { method, path, url, state, attempt: ++attempts, headers: new Headers(headers) }
        await notify('onRequest', info, signal)
        const sentAt = Date.now()
        details.response = undefined
        const ms = Math.min(timeoutMs, deadline - sentAt)
        const request = { method, url, headers: info.headers, body, ms, signal, details, isText, isStreamed }
        const { response, error, isUnknown } = await makeAttempt(options, request)
        mayBeApplied ||= isUnknown
        const window = readRateLimit(response)
        pacer?.release(window)
        rateLimit = window ?? rateLimit
        details.response = response
        const status = response?.status
        const requestId = headerOf(response, 'X-Request-Id')
        Object.assign(info, { status, requestId, error, durationMs: Date.now() - sentAt })
        const reason = status ?? error?.message
        log('debug', `${label} ${reason} ${info.durationMs} ms ${requestId ?? ''}`)
        const ignored = headerOf(response, 'X-Ignored-Properties')
        if (ignored) warn(`${label} ignored ${ignored}`)
        await notify(response ? 'onResponse' : 'onError', info, signal)

        const isRateLimited = status === 429
        // The next window is certain to come, even if other clients have used up this one.
        if (isRateLimited && window && pace === 'auto') retries--
        const delayMs = retryDelay(response, attempts)
        if (
          retries >= maxRetries ||
          error instanceof AbortedError ||
          !mayRetry(policy, response, !!error) ||
          (isRateLimited && options.retryRateLimited === false) ||
          Date.now() + delayMs >= deadline
        ) {
          if (error) throw error
          return response!
        }
        log('warn', `${label} ${reason}; retrying in ${Math.round(delayMs)} ms`)
        await notify('onRetry', Object.assign(info, { delayMs }), signal)
        await sleep(delayMs, signal, details)
      }
    }

    const unknownOutcome = (cause: Error) => {
      const canReconcile = policy !== 'never'
      const { idempotencyKey } = details
      const repeat = !canReconcile
        ? 'Check the state before sending it again.'
        : policy === 'keyed'
          ? `Call reconcile(), or repeat the call with ${input.deriveKey ? 'the same content or ' : ''}idempotencyKey '${idempotencyKey}', also after a restart.`
          : 'Call reconcile(), or repeat the call with the same content, also after a restart.'
      const message = `Outcome of ${info.method} ${path} unknown; the request may have been applied. ${repeat} Cause: ${cause.message}`
      const again = { ...input, options: { ...callOptions, idempotencyKey } }
      const reconcile = canReconcile ? () => reconciled(run(again, true)) : undefined
      return new UnknownOutcomeError(message, { ...details, cause }, reconcile)
    }

    /** Returns a success, or throws the call's error. */
    const decide = async () => {
      let failure: ReferralError
      try {
        const { data, error, response } = await input.send({
          params: { query: input.query! },
          body: input.body!,
          headers: { ...headers, [KEY_HEADER]: idempotencyKey },
          fetch: fetchWithRetries,
          ...(isStreamed && { parseAs: 'stream' }),
        })
        const picked = data && (isStreamed ? (response as never) : pick(data, response, details))
        if (picked !== undefined) return toWithResponse(picked, response, attempts)
        if (response.ok) {
          mayBeApplied = true
          failure = invalidResponse(response, details)
        } else {
          const message = messageOf(error) ?? `The server responded with status ${response.status}. Retry later.`
          failure = toApiError(message, { ...details, response })
        }
      } catch (thrown) {
        if (!(thrown instanceof ReferralError) || thrown instanceof AbortedError) throw thrown
        failure = thrown
      }
      if (policy === 'safe' || !mayBeApplied) throw failure
      if (!isFinal(failure, policy === 'repeatable' && !recover)) throw unknownOutcome(failure)
      const recovered = await recover?.(failure).catch((cause) => {
        throw cause instanceof AbortedError ? cause : unknownOutcome(cause)
      })
      if (recovered === undefined) throw failure
      return toWithResponse(recovered, failure.response, attempts, true)
    }

    try {
      return await decide()
    } catch (error) {
      info.error = error
      throw error
    } finally {
      await notify('onEnd', Object.assign(info, { durationMs: Date.now() - startedAt }), signal)
    }
  }

  return {
    api,
    run,
    warn,
    get rateLimit() {
      return rateLimit
    },
  }
}

/**
 * Whether a rejection proves that a lost attempt did not apply the write. A keyed write would have been replayed instead
 * of rejected. A repeatable write may be rejected because it was applied, unless the caller checks the state.
 */
const isFinal = (error: ReferralError, mayBeEcho: boolean): error is ApiError =>
  error instanceof ApiError && (error.status === 400 || ([404, 409].includes(error.status) && !mayBeEcho))

const toWithResponse = <T>(data: T, response: Response, attempts: number, recovered = false): WithResponse<T> => ({
  data,
  response,
  requestId: headerOf(response, 'X-Request-Id'),
  rateLimit: readRateLimit(response),
  idempotentReplayed: headerOf(response, 'Idempotent-Replayed') === 'true',
  recovered,
  attempts,
})
