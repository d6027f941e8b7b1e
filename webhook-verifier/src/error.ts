/** Why a delivery was refused. The list is closed: a further reason is a major version. */
export type WebhookErrorCode =
  /** No usable secret was given: missing, empty or not a string. The receiver's fault. */
  | 'secret_invalid'
  /** The body is not raw bytes: something parsed or read it before. The receiver's fault. */
  | 'body_parsed'
  /** The body is longer than the adapter reads. */
  | 'body_too_large'
  /** No signature came, or an empty one: the subscription has no secret. */
  | 'signature_missing'
  /** The signature is not 64 lowercase hex digits, or there is no whole `v1,<base64>`. */
  | 'signature_malformed'
  /** No secret makes this signature over these bytes. */
  | 'signature_mismatch'
  /** The signed time is further from now than allowed. */
  | 'timestamp_too_far'
  /** The signature is right, but the bytes are not a JSON event. */
  | 'payload_invalid'
  /** The unsigned `X-Service-Event` header names another event than the signed body. */
  | 'event_mismatch'
  /** The `seen` hook knows this event: answer 200 and do nothing. */
  | 'duplicate'

/** The one error of this package. Its message holds no secret, no signature and no part of the body. */
export class WebhookError extends Error {
  declare readonly code: WebhookErrorCode

  constructor(code: WebhookErrorCode, detail: string) {
    super(`${code}: ${detail}`)
    this.name = 'WebhookError'
    this.code = code
  }
}

export const refuse = (code: WebhookErrorCode, detail: string): never => {
  throw new WebhookError(code, detail)
}
