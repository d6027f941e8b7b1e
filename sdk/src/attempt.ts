import { ConnectionError, checkResponse, type ErrorDetails, ReferralError, reasonOf, TimeoutError } from './errors.ts'
import { withDeadline } from './hooks.ts'
import { type ClientOptions, checkKey, type Fetch, type FetchedResponse, userAgent } from './options.ts'
import { isOutcomeUnknown, mayHaveReachedServer } from './retry.ts'

/** What an attempt sends, and how long it may take. */
interface AttemptInput {
  method: string
  url: string
  headers: Headers
  body: string
  /** The time-out in milliseconds. */
  ms: number
  signal: AbortSignal | undefined
  /** The details of its errors. */
  details: ErrorDetails
  /** The documented body is text instead of JSON. */
  isText: boolean | undefined
  /** Leaves the body of a success unread. */
  isStreamed: boolean | undefined
}

/** The result of an attempt: a response, an error, or both when the response is not usable. */
interface AttemptResult {
  response?: Response
  error?: ReferralError | undefined
  /** A write may have been applied, and the response does not tell. */
  isUnknown: boolean
}

/** Makes one HTTP exchange: sends a request, and reads and checks its whole response. Never rejects. */
export const makeAttempt = (options: ClientOptions, input: AttemptInput): Promise<AttemptResult> => {
  const { method, url, body, ms, signal, details, isText, isStreamed } = input
  let wasSent = false
  const attempt = async (attemptSignal: AbortSignal): Promise<AttemptResult> => {
    const { apiKey, fetch = globalThis.fetch } = options
    const key = checkKey(typeof apiKey === 'function' ? await apiKey() : apiKey)
    attemptSignal.throwIfAborted()
    const headers = Object.fromEntries(input.headers)
    headers.authorization = `Bearer ${key}`
    headers['user-agent'] = userAgent(options, headers['user-agent'])
    // Redirects are not followed: they would send the key elsewhere and turn a POST into a GET.
    const init = { method, headers, signal: attemptSignal, redirect: 'manual', ...(body && { body }) } as const
    // A request that converts to its URL, for implementations of `fetch` that do not know the global `Request`.
    const request = Object.assign(new Request(url, init), { toString: () => url }) as Parameters<Fetch>[0]
    const sending = fetch(request, { ...options.fetchOptions, ...init })
    wasSent = true
    const fetched = await sending
    if (isStreamed && fetched.status >= 200 && fetched.status < 300)
      return { response: fetched as Response, isUnknown: false }
    const text = await fetched.text()
    const response = toResponse(fetched, text, isText)
    const error = checkResponse(response, text, details, isText)
    return { response, error, isUnknown: isOutcomeUnknown(response) || (response.ok && !!error) }
  }
  const onTimeout = () => new TimeoutError('TimeoutError', `No response within ${ms} ms.`, details)
  return withDeadline(attempt, { signal, ms, onTimeout, details, isStreamed }).catch((cause) => {
    if (cause instanceof ReferralError) return { error: cause, isUnknown: wasSent }
    const what = wasSent ? `Connection to ${new URL(url).origin}` : 'Reading the API key'
    const { reason, code } = reasonOf(cause)
    const error = new ConnectionError('ConnectionError', `${what} failed: ${reason}`, { ...details, cause, code })
    return { error, isUnknown: wasSent && mayHaveReachedServer(cause) }
  })
}

/** Returns a response that openapi-fetch can read. It expects JSON, so a text becomes a JSON string. */
const toResponse = ({ status, headers: received }: FetchedResponse, text: string, isText = false): Response => {
  // The response to a redirect that is not followed has no status in browsers.
  if (!status) return Response.error()
  const body = isText && status < 300 ? JSON.stringify(text) : text
  const headers = new Headers()
  received.forEach((value, name) => {
    headers.append(name, value)
  })
  return new Response(body || null, { status, headers })
}
