/** Why a delivery was rejected. New codes appear in major versions only. */
export type WebhookErrorCode =
  /** The secret is missing, empty or not a string. A configuration error of the receiver. */
  | 'secret_invalid'
  /** The body is not raw bytes, because something parsed or read it before. A configuration error of the receiver. */
  | 'body_parsed'
  /** The body is longer than `maxBytes`. */
  | 'body_too_large'
  /** The signature is missing or empty: the subscription has no secret. */
  | 'signature_missing'
  /** The signature is not 64 lowercase hex digits, or contains no complete `v1,<base64>`. */
  | 'signature_malformed'
  /** None of the secrets produces this signature. */
  | 'signature_mismatch'
  /** The signed timestamp is outside the tolerance. */
  | 'timestamp_too_far'
  /** The signature is valid, but the body is not a JSON event. */
  | 'payload_invalid'
  /** The unsigned `X-Service-Event` header differs from the event of the signed body. */
  | 'event_mismatch'
  /** The `seen` hook returned true. Respond with 200 and do nothing. */
  | 'duplicate'

/** The error of a rejected delivery. Its message contains no secret, no signature and no part of the body. */
export class WebhookError extends Error {
  declare readonly code: WebhookErrorCode

  constructor(code: WebhookErrorCode, detail: string) {
    super(`${code}: ${detail}`)
    this.name = 'WebhookError'
    this.code = code
  }
}

/** Throws a WebhookError, also as an expression. */
export const reject = (code: WebhookErrorCode, detail: string): never => {
  throw new WebhookError(code, detail)
}
