/** Why a delivery was refused. The list is closed: a new reason is a new major version. */
export type WebhookErrorCode =
  /** No usable secret was given: missing, empty or not a string. The receiver's fault, answer 500. */
  | 'secret_invalid'
  /** The body is not raw bytes: something parsed or consumed it before. The receiver's fault, answer 500. */
  | 'body_parsed'
  /** The body is longer than the adapter reads. Answer 413. */
  | 'body_too_large'
  /** No signature header, or an empty one: the subscription has no secret. */
  | 'signature_missing'
  /** The signature is not 64 lowercase hex digits, or holds no whole `v1,<base64>`. */
  | 'signature_malformed'
  /** No secret gives this signature over these bytes. */
  | 'signature_mismatch'
  /** A signed time is required and none was sent, or it is not a number of seconds. */
  | 'timestamp_invalid'
  /** The signed time is further from now than the tolerance. */
  | 'timestamp_out_of_tolerance'
  /** The signature is right, but the bytes are not a JSON event. */
  | 'payload_invalid'
  /** The unsigned `X-Service-Event` header names another event than the signed body. */
  | 'event_mismatch'
  /** The `seen` hook knows this event already. Answer 200 and do nothing. */
  | 'duplicate'

/** The one error of this package. Its message never holds a secret, a signature or a part of the body. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError'
  readonly code: WebhookErrorCode

  constructor(code: WebhookErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
