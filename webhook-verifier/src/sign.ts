import { encode, type RawBody, toBytes, toHex } from './bytes.ts'
import { importKeys, type Secrets } from './key.ts'

/** What is signed beside the body. */
export interface WebhookStamp {
  /** The same for every delivery of one event: printable ASCII without a dot. */
  id: string
  /** When this delivery is sent, in whole seconds since 1970. */
  timestamp: number
}

/** The headers that prove a delivery, named as they are sent. */
export interface SignatureHeaders {
  'X-Service-Signature': string
  'webhook-id': string
  'webhook-timestamp': string
  'webhook-signature': string
}

/** The bytes Standard Webhooks signs: `<id>.<timestamp>.<body>`. */
export const stamped = (id: string, timestamp: string, body: Uint8Array) => {
  const prefix = encode(`${id}.${timestamp}.`)
  const bytes = new Uint8Array(prefix.length + body.length)
  bytes.set(prefix)
  bytes.set(body, prefix.length)
  return bytes
}

const hmac = (key: CryptoKey, bytes: Uint8Array<ArrayBuffer>) => crypto.subtle.sign('HMAC', key, bytes)

/**
 * The value of `X-Service-Signature` (section 6.3): 64 lowercase hex digits.
 * Rejects with `secret_invalid` or `body_parsed`.
 */
export const sign = async (rawBody: RawBody, secret: string): Promise<string> => {
  const [key] = await importKeys(secret)
  return toHex(await hmac(key!, toBytes(rawBody)))
}

/**
 * Every signature header of one delivery, for senders. The first secret makes `X-Service-Signature`;
 * each one adds a `v1,<base64>` to `webhook-signature`, so that a replaced secret can stay valid for a while.
 * Rejects with `secret_invalid` or `body_parsed`, and with a RangeError for an id or a timestamp that cannot be sent.
 */
export const signWebhook = async (
  rawBody: RawBody,
  secrets: Secrets,
  stamp: WebhookStamp,
): Promise<SignatureHeaders> => {
  const timestamp = String(stamp.timestamp)
  if (!/^[!-\-/-~]+$/.test(stamp.id)) throw new RangeError('id must be printable ASCII without a dot')
  // Twelve digits are milliseconds.
  if (!/^\d{1,11}$/.test(timestamp)) throw new RangeError('timestamp must be whole seconds since 1970')
  const body = toBytes(rawBody)
  const keys = await importKeys(secrets)
  const message = stamped(stamp.id, timestamp, body)
  const [service, ...standard] = await Promise.all([hmac(keys[0]!, body), ...keys.map((key) => hmac(key, message))])
  return {
    'X-Service-Signature': toHex(service!),
    'webhook-id': stamp.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': standard.map((mac) => `v1,${btoa(String.fromCharCode(...new Uint8Array(mac)))}`).join(' '),
  }
}
