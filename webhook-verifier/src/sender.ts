import { type RawBody, toBytes } from './bytes.ts'
import { computeSignatures, type Secrets } from './signature.ts'

/** What Standard Webhooks signs together with the body. */
export interface WebhookMetadata {
  /** The same for every delivery of one event: printable ASCII without a dot. */
  id: string
  /** When this delivery is sent, in whole seconds since 1970. */
  timestamp: number
}

/** The signature headers of a delivery. */
export interface SignatureHeaders {
  'X-Service-Signature': string
  'webhook-id': string
  'webhook-timestamp': string
  'webhook-signature': string
}

/**
 * Returns all signature headers of one delivery, its own and those of Standard Webhooks.
 *
 * @param secrets The first one signs `X-Service-Signature`; each adds a `v1,<base64>` to `webhook-signature`, so that an old
 *   secret stays valid during a rotation.
 * @throws {WebhookError} `secret_invalid` or `body_parsed`.
 * @throws {RangeError} when `id` or `timestamp` is malformed.
 *
 * @example
 * const headers = await signWebhook(body, [newSecret, oldSecret], { id: 'evt_1', timestamp: Math.floor(Date.now() / 1000) })
 */
export const signWebhook = async (
  rawBody: RawBody,
  secrets: Secrets,
  { id, timestamp }: WebhookMetadata,
): Promise<SignatureHeaders> => {
  if (!/^[!-\-/-~]+$/.test(id)) throw new RangeError('id must be printable ASCII without a dot.')
  // More than eleven digits are milliseconds.
  if (!/^\d{1,11}$/.test(`${timestamp}`)) throw new RangeError('timestamp must be in whole seconds since 1970.')
  // Standard Webhooks signs `<id>.<timestamp>.<body>`.
  const signatures = await computeSignatures(secrets, `${id}.${timestamp}.`, toBytes(rawBody))
  return {
    'X-Service-Signature': signatures[0]!.plain,
    'webhook-id': id,
    'webhook-timestamp': `${timestamp}`,
    'webhook-signature': signatures.map(({ prefixed }) => `v1,${prefixed}`).join(' '),
  }
}
