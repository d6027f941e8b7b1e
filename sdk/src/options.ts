import type { ReferralError } from './errors.ts'

/** A function from `Request` to `Response`: `globalThis.fetch`, or `app.fetch` of a server in the same process. */
export type Fetch = (request: Request) => Promise<Response> | Response

/** The subset of `console` that the SDK uses. The API key is never logged. */
export interface Logger {
  debug(message: string): void
  warn(message: string): void
}

/** An attempt that is about to be sent. */
export interface RequestInfo {
  method: string
  url: string
  /** 1-based. */
  attempt: number
  /** The headers to send, without the credential. Headers that a hook sets here are sent. */
  headers: Headers
}

/** An attempt that received a response. */
export interface ResponseInfo extends RequestInfo {
  status: number
  requestId: string | undefined
  durationMs: number
}

/** A retry that is about to be made. */
export interface RetryInfo extends RequestInfo {
  /** Milliseconds until the next attempt. */
  delayMs: number
  /** The status of the last response, undefined when none was received. */
  status: number | undefined
  error: ReferralError | undefined
}

/** Options of a call. */
export interface CallOptions {
  /** Aborts the call, including the wait for a retry, with an `AbortedError`. */
  signal?: AbortSignal | undefined
  /** Milliseconds allowed per attempt, including its body. */
  timeoutMs?: number | undefined
  /** Milliseconds allowed for all attempts and the waits between them. */
  totalTimeoutMs?: number | undefined
  /** The maximum number of retries. */
  maxRetries?: number | undefined
  /** Headers to add to those of the client. */
  headers?: Readonly<Record<string, string>> | undefined
}

/** Options of a write. */
export interface WriteOptions extends CallOptions {
  /** 1 to 255 printable ASCII characters. Defaults to a new key for each call. */
  idempotencyKey?: string | undefined
}

/** Options of a client. */
export interface ClientOptions {
  /** The API key of your shop. It can mark payouts as paid, so keep it on a server. */
  apiKey: string | undefined
  /** The URL of the server, without `/api/v1`. */
  baseUrl: string | undefined
  /** Defaults to `globalThis.fetch`, read at each call. */
  fetch?: Fetch | undefined
  /** Milliseconds allowed per attempt. Defaults to 30,000. */
  timeoutMs?: number | undefined
  /** Milliseconds allowed per call. Unlimited by default. */
  totalTimeoutMs?: number | undefined
  /** The maximum number of retries. Defaults to 2. */
  maxRetries?: number | undefined
  /** Headers to send with every call. */
  headers?: Readonly<Record<string, string>> | undefined
  logger?: Logger | undefined
  /** Called before each attempt. */
  onRequest?: ((info: RequestInfo) => void) | undefined
  /** Called after each attempt that received a response. */
  onResponse?: ((info: ResponseInfo) => void) | undefined
  /** Called before the wait for a retry. */
  onRetry?: ((info: RetryInfo) => void) | undefined
  /** Allows a browser, where anyone who opens the page can read the API key. For tests only. */
  dangerouslyAllowBrowser?: boolean | undefined
}
