/** Everything that is stored and logged about a delivery's outcome: no URL, secret, payload, or raw network error. */
export type DeliveryCode =
  /** A 2xx response. */
  | 'ok'
  | 'http_4xx'
  | 'http_5xx'
  /** No connection within 5 s, or no complete response within 10 s. */
  | 'timeout'
  /** The certificate is not valid for the host, or the handshake failed. */
  | 'tls'
  /** The host name has no address. */
  | 'dns'
  /** No connection, or a connection lost before the response was complete. */
  | 'connect'
  /** The URL or one of its host's addresses is not public, or the response was a redirect, which is never followed. */
  | 'refused_url'
  /** No encryption key decrypts the subscription's secret. */
  | 'secret_unreadable'
  /** The subscription is disabled, so nothing was sent. */
  | 'disabled'

export interface Outcome {
  code: DeliveryCode
  httpStatus: number | null
  /** Whether the response was read to its end. Otherwise, the receiver counts as unresponsive. */
  isComplete: boolean
  /** How long the receiver asks to wait in `Retry-After`. */
  retryAfterMs?: number
}

/** A delivery that failed without a usable response. */
export class DeliveryError extends Error {
  readonly code: DeliveryCode

  constructor(code: DeliveryCode) {
    super(code)
    this.code = code
  }
}

/** The code for an HTTP status: 2xx is success, and 3xx is a redirect, which is not followed. */
export function codeOfStatus(status: number): DeliveryCode {
  if (status >= 500) return 'http_5xx'
  if (status >= 400) return 'http_4xx'
  return status >= 300 ? 'refused_url' : 'ok'
}

/** The outcome of a delivery without a usable response. */
export const failed = (code: DeliveryCode): Outcome => ({ code, httpStatus: null, isComplete: false })
