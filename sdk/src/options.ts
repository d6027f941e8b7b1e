import type { ReferralError } from './errors.ts'
import { version } from './generated/version.ts'

/** The parts of a response that the SDK reads. The responses of undici and node-fetch have them too. */
export interface FetchedResponse {
  readonly status: number
  readonly headers: { forEach(callback: (value: string, name: string) => void): void }
  text(): Promise<string>
}

/** What the SDK passes to `fetch` in addition to the request, with `fetchOptions`. */
export interface FetchInit {
  method: string
  headers: Record<string, string>
  body?: string
  signal: AbortSignal
  redirect: 'manual'
}

/**
 * `globalThis.fetch`, the `fetch` of undici or node-fetch, or a function from `Request` to `Response`. The first argument
 * is a `Request` that converts to its URL as a string, for implementations with a `Request` class of their own.
 */
export type Fetch = (request: Request & string, init: FetchInit) => PromiseLike<FetchedResponse> | FetchedResponse

/** The subset of `console` that the SDK uses. The API key is never logged. */
export interface Logger {
  debug(message: string): void
  warn(message: string): void
}

/** An attempt that is about to be sent. */
export interface RequestInfo {
  method: string
  url: string
  /** The path in the API description, such as `/admin/v1/keys/{id}`. */
  path: string
  /** 1-based. */
  attempt: number
  /** The headers to send, without the credential. Headers that a hook sets here are sent. */
  headers: Headers
  /** An object of your own: the same for all hooks of a call. */
  state: Record<string | symbol, unknown>
}

/** An attempt that received a response. */
export interface ResponseInfo extends RequestInfo {
  status: number
  requestId: string | undefined
  durationMs: number
}

/** An attempt that received no response. */
export interface ErrorInfo extends RequestInfo {
  error: ReferralError
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

/** A call that has ended, whatever its outcome. `attempt` is the number of attempts. */
export interface EndInfo extends RequestInfo {
  /** The status of the last response, undefined when none was received. */
  status: number | undefined
  requestId: string | undefined
  /** What the call throws, undefined when it succeeded. */
  error: unknown
  /** From the start of the call, with all attempts and waits. */
  durationMs: number
}

/** What a call collects for its hooks. */
export interface AttemptInfo extends RequestInfo {
  status?: number | undefined
  requestId?: string | undefined
  error?: unknown
  durationMs?: number
  delayMs?: number
}

/**
 * Functions to call during a call. A hook may be async: the call waits for it, for at most 5 seconds. A hook that throws
 * or takes longer changes nothing about the call. The first failure of each hook is reported to
 * `console.warn`.
 */
export interface Hooks {
  /** Before each attempt. Can add headers. */
  onRequest?: ((info: RequestInfo) => unknown) | undefined
  /** After each attempt that received a response. */
  onResponse?: ((info: ResponseInfo) => unknown) | undefined
  /** After each attempt that received none. */
  onError?: ((info: ErrorInfo) => unknown) | undefined
  /** Before the wait for a retry. */
  onRetry?: ((info: RetryInfo) => unknown) | undefined
  /** Once per call, after its last attempt. */
  onEnd?: ((info: EndInfo) => unknown) | undefined
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

/** Options of a refund or cancellation. */
export interface ReportOptions extends WriteOptions {
  /** Returns what would change, and records nothing. */
  dryRun?: boolean | undefined
}

/** The name of an application, for the user agent. */
export interface AppInfo {
  name: string
  version?: string | undefined
  url?: string | undefined
}

/** Options of a client. */
export interface ClientOptions extends Hooks {
  /**
   * The API key of your shop. It can mark payouts as paid, so keep it on a server. A function is called for each attempt,
   * so that a rotated key is used without a restart. Defaults to `REFERRAL_API_KEY` of the environment.
   */
  apiKey?: string | (() => string | PromiseLike<string>) | undefined
  /**
   * An affiliate's token (`ra_…`) instead of an API key, also in a browser: `client.affiliates.createToken` returns one, which reads
   * the data of this affiliate only. A function is called for each attempt.
   */
  affiliateToken?: string | (() => string | PromiseLike<string>) | undefined
  /** The URL of the server, without `/api/v1`. Defaults to `REFERRAL_BASE_URL` of the environment. */
  baseUrl?: string | undefined
  /** Defaults to `globalThis.fetch`, read at each call. */
  fetch?: Fetch | undefined
  /** Options to pass to `fetch` with each request: `dispatcher` for Node and undici, `agent` for node-fetch, `proxy` for Bun. */
  fetchOptions?: Readonly<Record<string, unknown>> | undefined
  /** Milliseconds allowed per attempt. Defaults to 30,000. */
  timeoutMs?: number | undefined
  /** Milliseconds allowed per call. Unlimited by default. */
  totalTimeoutMs?: number | undefined
  /** The maximum number of retries. Defaults to 2. */
  maxRetries?: number | undefined
  /** False to throw a `RateLimitError` at the first 429 instead of waiting for the next window. Defaults to true. */
  retryRateLimited?: boolean | undefined
  /**
   * Delays requests so that the rate limit is not exceeded. `auto` follows the window that the response headers describe,
   * and waits for the next one however often a 429 says so. Unlimited by default.
   */
  maxRequestsPerMinute?: number | 'auto' | undefined
  /** Headers to send with every call. A `User-Agent` is added to that of the SDK. */
  headers?: Readonly<Record<string, string>> | undefined
  /** Your application, added to the user agent. */
  appInfo?: AppInfo | undefined
  /**
   * Logs each attempt. Without it, `REFERRAL_LOG=debug` logs to the console, and `REFERRAL_LOG=warn` retries and ignored properties
   * only.
   */
  logger?: Logger | undefined
  /** Allows a browser, where anyone who opens the page can read the API key. For tests only. */
  dangerouslyAllowBrowser?: boolean | undefined
}

const check = (isValid: unknown, message: string) => {
  if (!isValid) throw new TypeError(message)
}

/**
 * Returns the key without leading and trailing whitespace.
 *
 * @throws {TypeError} when it is missing or malformed. The error of the runtime would contain the key.
 */
export const checkKey = (key: unknown): string => {
  const trimmed = `${key ?? ''}`.trim()
  check(/^[!-~]+$/.test(trimmed), 'The API key is missing or malformed. Set apiKey or REFERRAL_API_KEY.')
  return trimmed
}

const MINIMUM = { maxRetries: 0, timeoutMs: 1, totalTimeoutMs: 1, maxRequestsPerMinute: 1 }

/** @throws {TypeError} when a number is out of range. */
export const checkLimits = (
  options: { readonly [Name in keyof typeof MINIMUM]?: number | 'auto' | undefined },
): void => {
  for (const [name, minimum] of Object.entries(MINIMUM)) {
    const value = options[name as keyof typeof MINIMUM] ?? 'auto'
    check(value === 'auto' || value >= minimum, `${name} must be a number of at least ${minimum}.`)
  }
}

const consoleOf = (level: string | undefined): Logger | undefined =>
  level === 'debug' ? console : level === 'warn' ? { debug: () => {}, warn: console.warn } : undefined

/**
 * Checks the options and adds the defaults.
 *
 * @throws {TypeError} when an option is missing or malformed, or in a browser.
 */
export const checkOptions = (given: ClientOptions) => {
  const { process, window, document } = globalThis as {
    process?: { env?: Record<string, string | undefined> }
    window?: unknown
    document?: unknown
  }
  const {
    affiliateToken,
    apiKey = affiliateToken ?? process?.env?.REFERRAL_API_KEY,
    baseUrl = process?.env?.REFERRAL_BASE_URL ?? '',
    maxRetries = 2,
    timeoutMs = 30_000,
    totalTimeoutMs = Infinity,
    logger = consoleOf(process?.env?.REFERRAL_LOG),
    ...options
  } = given
  if (typeof apiKey !== 'function') checkKey(apiKey)
  check(
    /^https?:\/\/[^/]/.test(baseUrl),
    'baseUrl must start with https:// or http://. Set baseUrl or REFERRAL_BASE_URL.',
  )
  checkLimits(given)
  check(
    !(window && document) || apiKey === affiliateToken || given.dangerouslyAllowBrowser,
    'A browser would expose the API key. In a test, set dangerouslyAllowBrowser.',
  )
  const url = baseUrl.replace(/(\/api\/v1)?\/*$/, '')
  return { ...options, logger, apiKey, baseUrl: url, maxRetries, timeoutMs, totalTimeoutMs }
}

/** The user agent: the SDK, the application, and what the caller has set. */
export const userAgent = ({ appInfo }: ClientOptions, override: string | undefined): string => {
  const app = appInfo && [appInfo.name, appInfo.version].filter(Boolean).join('/')
  return [`referral-sdk/${version}`, app, appInfo?.url && `(${appInfo.url})`, override].filter(Boolean).join(' ')
}
