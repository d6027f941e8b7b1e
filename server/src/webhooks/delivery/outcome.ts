/** All that is ever said about a delivery: never a URL, a secret, a payload or a raw network error. */
export type DeliveryCode =
  /** Answered 2xx. */
  | 'ok'
  | 'http_4xx'
  | 'http_5xx'
  /** Not connected within 5 s, or the response not complete within 10 s. */
  | 'timeout'
  /** The certificate is not valid for the host, or the handshake failed. */
  | 'tls'
  /** The host name has no address. */
  | 'dns'
  /** No connection, or one that broke before the response was complete. */
  | 'connect'
  /** The URL or an address of its host is not public; or the answer was a redirect, which is never followed. */
  | 'refused_url'
  /** No encryption key opens the subscription's secret. */
  | 'secret_unreadable'

export interface Outcome {
  code: DeliveryCode
  httpStatus: number | null
  /** The response was read to its end. Only then does the receiver count as one that responds. */
  isComplete: boolean
}

/** A delivery without a response that counts. */
export class DeliveryError extends Error {
  readonly code: DeliveryCode

  constructor(code: DeliveryCode) {
    super(code)
    this.code = code
  }
}

/** What a status says: 2xx is success. 3xx names another address, and going there is refused. */
export function codeOfStatus(status: number): DeliveryCode {
  if (status >= 500) return 'http_5xx'
  if (status >= 400) return 'http_4xx'
  return status >= 300 ? 'refused_url' : 'ok'
}

/** How a delivery without a response that counts ended. */
export const failed = (code: DeliveryCode): Outcome => ({ code, httpStatus: null, isComplete: false })
