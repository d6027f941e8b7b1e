import { type Call, LazyCall, type WithResponse } from './call.ts'
import {
  AbortedError,
  ApiError,
  InvalidResponseError,
  type ReferralError,
  toApiError,
  UnknownOutcomeError,
} from './errors.ts'
import type { ClientOptions, WriteOptions } from './options.ts'
import { type RateLimit, readRateLimit } from './retry.ts'
import { errorDetails, type PreparedRequest, type ReceivedResponse, type SendResult, sendWithRetries } from './send.ts'
import type { Open, Operation, OperationId, Query, RequestBody, ResponseBody } from './types.ts'

/** The parts of one request. */
export interface RequestInput {
  query?: object | undefined
  body?: unknown
  options?: WriteOptions | undefined
}

/** What a resource method passes to `Core.call`. */
export interface CallInput<Id extends OperationId, Data> extends RequestInput {
  query?: Query<Id> | undefined
  body?: RequestBody<Id> | undefined
  /** Derives the idempotency key when the caller passes none. */
  deriveKey?: ((body: unknown) => Promise<string>) | undefined
  /** Picks the part of the response body that the method returns. */
  pick: (body: Open<ResponseBody<Id>>) => Data
  /**
   * Called when a write is rejected after an attempt whose response was lost. Returns the current state when the lost
   * attempt applied the write, undefined when it did not.
   */
  recoverLostResponse?: ((rejection: ApiError) => Promise<Data | undefined>) | undefined
}

/** Sends the requests of all resources, with one API key to one server. */
export class Core {
  /** The rate limit window of the last response, undefined before the first. */
  rateLimit: RateLimit | undefined
  readonly #options: ClientOptions

  constructor(options: ClientOptions) {
    validate(options)
    this.#options = options
  }

  /** Starts an operation and returns its call. */
  call<Id extends OperationId, Data>(operation: Operation<Id>, input: CallInput<Id, Data>): Call<Data> {
    const call = new LazyCall(() => this.request(operation, input))
    call.withResponse()
    return call
  }

  /** Sends an operation. `mayBeApplied` is true when an earlier call may have applied the write already. */
  async request<Id extends OperationId, Data>(
    operation: Operation<Id>,
    { deriveKey, pick, recoverLostResponse, ...input }: CallInput<Id, Data>,
    mayBeApplied = false,
  ): Promise<WithResponse<Data>> {
    const { options, body } = input
    const idempotencyKey = options?.idempotencyKey ?? (await deriveKey?.(body))
    const request = this.prepare(operation, { ...input, options: { ...options, idempotencyKey } })
    const sameKey = { ...options, idempotencyKey: request.headers.get('Idempotency-Key') ?? undefined }
    const reconcile = async () =>
      (await this.request(operation, { ...input, options: sameKey, pick, recoverLostResponse }, true)).data

    const sent = await this.send({ ...request, mayBeApplied })
    const { received, error } = toResult(request, sent, reconcile, recoverLostResponse !== undefined)
    if (!error) {
      const data = pick(received.json as Open<ResponseBody<Id>>)
      return toWithResponse(data, received.response, sent.attempts, false)
    }
    if (!(error instanceof ApiError && sent.mayBeApplied)) throw error
    const state = await recoverLostResponse?.(error).catch((cause) => {
      throw cause instanceof AbortedError ? cause : unknownOutcome(request, cause, reconcile)
    })
    if (state === undefined) throw error
    return toWithResponse(state, error.response, sent.attempts, true)
  }

  /** Builds a request without sending it. Adds an idempotency key where the operation accepts one. */
  prepare([method, path, retryPolicy, responseType]: Operation, input: RequestInput): PreparedRequest {
    const clientOptions = this.#options
    const { query, body, options = {} } = input
    const headers = new Headers({ Accept: 'application/json', ...clientOptions.headers })
    for (const [name, value] of new Headers(options.headers)) headers.set(name, value)
    if (body !== undefined) headers.set('Content-Type', 'application/json')
    if (options.idempotencyKey) headers.set('Idempotency-Key', options.idempotencyKey)
    else if (retryPolicy === 'keyed' && !headers.has('Idempotency-Key'))
      headers.set('Idempotency-Key', crypto.randomUUID())
    const given = Object.entries(options).filter(([, value]) => value !== undefined)
    return {
      method,
      url: `${clientOptions.baseUrl?.replace(/(\/api\/v1)?\/*$/, '')}${path}${queryString(query)}`,
      retryPolicy,
      headers,
      body: JSON.stringify(body),
      options: { ...clientOptions, ...Object.fromEntries(given) },
      expectsText: responseType !== undefined,
    }
  }

  /** Sends a prepared request, with retries. */
  async send(request: PreparedRequest): Promise<SendResult> {
    const sent = await sendWithRetries(this.#options, request)
    this.rateLimit = (sent.received && readRateLimit(sent.received.response)) ?? this.rateLimit
    return sent
  }
}

/**
 * Creates what a single resource needs, so that unused resources are tree-shaken.
 *
 * @throws {TypeError} when `apiKey` or `baseUrl` is missing or malformed, or in a browser.
 *
 * @example
 * const api = events(createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: 'https://referrals.example.com' }))
 * await api.click({ ref: 'noor-haddad' })
 */
export const createCore = (options: ClientOptions): Core => new Core(options)

const validate = ({ apiKey, baseUrl, dangerouslyAllowBrowser }: ClientOptions) => {
  // Checked here, because the runtime's own error message would contain the key.
  if (!/^[!-~]+$/.test(apiKey?.trim() ?? '')) throw new TypeError('apiKey is missing or malformed. Pass an API key.')
  if (!/^https?:\/\/[^/]/.test(baseUrl ?? '')) throw new TypeError('baseUrl must start with https:// or http://.')
  if ('window' in globalThis && 'document' in globalThis && !dangerouslyAllowBrowser)
    throw new TypeError(
      'A browser would expose the API key, which can mark payouts as paid. Use the SDK on a server, or set dangerouslyAllowBrowser in a test.',
    )
}

const queryString = (query: object = {}) => {
  const given = Object.entries(query).filter(([, value]) => value != null)
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, `${value}`]))}` : ''
}

const toWithResponse = <T>(data: T, response: Response, attempts: number, recovered: boolean): WithResponse<T> => ({
  data,
  response,
  requestId: response.headers.get('X-Request-Id') ?? undefined,
  rateLimit: readRateLimit(response),
  idempotentReplayed: response.headers.get('Idempotent-Replayed') === 'true',
  recovered,
  attempts,
})

/**
 * Turns what was sent and received into a successful response or the error to throw.
 *
 * @param canRecover Whether the caller checks the state when the write is rejected after a lost response.
 */
export const toResult = (
  request: PreparedRequest,
  sent: SendResult,
  reconcile: () => Promise<unknown>,
  canRecover = false,
): { received: ReceivedResponse; error?: never } | { received?: never; error: ReferralError } => {
  const error = sent.error ?? toError(sent.received, request)
  if (!error) return { received: sent.received! }
  const isKnown = request.retryPolicy === 'safe' || !sent.mayBeApplied || isFinal(error, request, canRecover)
  return { error: isKnown ? error : unknownOutcome(request, error, reconcile) }
}

/** Returns undefined for a success. A 429 or 503 of a proxy is treated like one from the API. */
const toError = ({ response, json }: ReceivedResponse, request: PreparedRequest): ReferralError | undefined => {
  const { ok, status, headers } = response
  const body = typeof json === 'object' ? (json as { error?: unknown } | null) : undefined
  if (ok && (body || request.expectsText)) return undefined
  const message = typeof body?.error === 'string' ? body.error : undefined
  const details = { ...errorDetails(request), response }
  if (!ok && (message || status === 429 || status === 503))
    return toApiError(message ?? `The server responded with status ${status}. Retry later.`, details)
  const location = headers.get('Location')
  const what = location ? `redirect to ${location}` : (headers.get('Content-Type') ?? 'no content type')
  return new InvalidResponseError(
    `The response did not come from the API: ${status}, ${what}. Check baseUrl and any proxy in between.`,
    details,
  )
}

/**
 * Whether a rejection proves that a lost attempt did not apply the write. A keyed write would have been replayed instead
 * of rejected. A repeatable write may be rejected because it was applied, unless the caller checks the state.
 */
const isFinal = (error: ReferralError, { retryPolicy }: PreparedRequest, canRecover: boolean) =>
  error instanceof ApiError &&
  (error.status === 400 || ([404, 409].includes(error.status) && (retryPolicy !== 'repeatable' || canRecover)))

const unknownOutcome = (request: PreparedRequest, cause: Error, reconcile: () => Promise<unknown>) => {
  const canReconcile = request.retryPolicy !== 'never'
  const action = canReconcile ? 'Call reconcile()' : 'Check the state'
  const message = `Outcome unknown; the request may have been applied. ${action} before sending it again. Cause: ${cause.message}`
  return new UnknownOutcomeError(message, { ...errorDetails(request), cause }, canReconcile ? reconcile : undefined)
}
