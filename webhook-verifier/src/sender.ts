import { type RawBody, toBytes } from './bytes.ts'
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
  // What Standard Webhooks signs: `<id>.<timestamp>.<body>`.
  const macs = await macsOf(secrets, `${id}.${timestamp}.`, toBytes(rawBody))
  return {
    'X-Service-Signature': macs[0]!.plain,
    'webhook-id': id,
    'webhook-timestamp': `${timestamp}`,
    'webhook-signature': macs.map(({ stamped }) => `v1,${stamped}`).join(' '),
  }
}
