import type { ReferralError } from './errors.ts'

/** Takes one `Request`, gives a `Response`: `globalThis.fetch`, or `app.fetch` of a server in the same process. */
export type Fetch = (request: Request) => Promise<Response> | Response

/** The part of `console` that is used. The API key is never written. */
export interface Logger {
  debug(message: string): void
  warn(message: string): void
}

/** One attempt at a call. */
export interface RequestInfo {
  method: string
  url: string
  /** Counted from 1. */
  attempt: number
  /** What will be sent, without the credential. What a hook sets here is sent. */
  headers: Headers
}

/** What one attempt got. */
export interface ResponseInfo extends RequestInfo {
  status: number
  requestId: string | undefined
  durationMs: number
}

/** Why, and after how long, a call is sent again. */
export interface RetryInfo extends RequestInfo {
  delayMs: number
  /** The status that came, or undefined when none came. */
  status: number | undefined
  error: ReferralError | undefined
}

/** What a single call may change. */
export interface CallOptions {
  /** Ends the call at once, waiting for a retry included, with an `AbortedError`. */
  signal?: AbortSignal | undefined
  /** Milliseconds one attempt may take, its body included. */
  timeoutMs?: number | undefined
  /** Milliseconds all attempts and the waiting between them may take. */
  totalTimeoutMs?: number | undefined
  /** How often a failed attempt is sent again. */
  maxRetries?: number | undefined
  /** Sent beside the headers of the client. */
  headers?: Readonly<Record<string, string>> | undefined
}

/** What a single write may change. */
export interface WriteOptions extends CallOptions {
  /** 1 to 255 printable ASCII characters. Made for you when left out, once per call. */
  idempotencyKey?: string | undefined
}

export interface ClientOptions {
  /** The key of your shop (section 5). It can pay money: keep it on a server. */
  apiKey: string | undefined
  /** Where the service runs, without `/api/v1`. */
  baseUrl: string | undefined
  /** Default `globalThis.fetch`, looked up at each call. */
  fetch?: Fetch | undefined
  /** Milliseconds one attempt may take. Default 30,000. */
  timeoutMs?: number | undefined
  /** Milliseconds a whole call may take. Default: no limit beside the attempts'. */
  totalTimeoutMs?: number | undefined
  /** How often a failed attempt is sent again. Default 2. */
  maxRetries?: number | undefined
  /** Sent with every call. */
  headers?: Readonly<Record<string, string>> | undefined
  logger?: Logger | undefined
  /** Before each attempt. */
  onRequest?: ((info: RequestInfo) => void) | undefined
  /** After each attempt that was answered. */
  onResponse?: ((info: ResponseInfo) => void) | undefined
  /** Before waiting for the next attempt. */
  onRetry?: ((info: RetryInfo) => void) | undefined
  /** A key in a browser belongs to whoever opens the page. Only for tests. */
  dangerouslyAllowBrowser?: boolean | undefined
}
