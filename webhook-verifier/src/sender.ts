import { encode, type RawBody, toBytes, toHex } from './bytes.ts'
import type { Secrets } from './hmac.ts'
import { macsOf } from './mac.ts'

/** What Standard Webhooks signs beside the body. */
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

const toV1 = (mac: ArrayBuffer) => `v1,${btoa(String.fromCharCode(...new Uint8Array(mac)))}`

/** What Standard Webhooks signs: `<id>.<timestamp>.<body>`. */
const stamp = (id: string, timestamp: string, body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> => {
  const prefix = encode(`${id}.${timestamp}.`)
  const bytes = new Uint8Array(prefix.length + body.length)
  bytes.set(prefix)
  bytes.set(body, prefix.length)
  return bytes
}

/**
 * Every signature header of one delivery (section 6.3 and Standard Webhooks). The first secret makes
 * `X-Service-Signature`; each adds a `v1,<base64>` to `webhook-signature`, so that a replaced secret can stay valid
 * for a while. Rejects with a WebhookError (`secret_invalid`, `body_parsed`), or with a RangeError for an id or a
 * timestamp that cannot be sent.
 */
export const signWebhook = async (
  rawBody: RawBody,
  secrets: Secrets,
  { id, timestamp }: WebhookStamp,
): Promise<SignatureHeaders> => {
  if (!/^[!-\-/-~]+$/.test(id)) throw new RangeError('id must be printable ASCII without a dot')
  // Twelve digits are milliseconds.
  if (!/^\d{1,11}$/.test(`${timestamp}`)) throw new RangeError('timestamp must be whole seconds since 1970')
  const body = toBytes(rawBody)
  const message = stamp(id, `${timestamp}`, body)
  const macs = await macsOf(secrets, [message, body])
  return {
    'X-Service-Signature': toHex(macs[0]![1]!),
    'webhook-id': id,
    'webhook-timestamp': `${timestamp}`,
    'webhook-signature': macs.map(([stamped]) => toV1(stamped!)).join(' '),
  }
}
