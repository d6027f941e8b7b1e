import { signWebhook } from '@referral/webhook-verifier/sender'

/** An event to send, at a time in milliseconds since 1970. */
interface SentEvent {
  id: string
  event: string
  body: string
  traceparent: string | null
  at: number
}

/**
 * The request headers of a delivery, with its id and signatures.
 *
 * @param secret undefined for a subscription without one; if there are several, the first signs both headers and the others sign
 *   the Standard Webhooks header too.
 */
export async function deliveryHeaders(
  secret: string | string[] | undefined,
  { event, body, traceparent, ...signed }: SentEvent,
): Promise<Record<string, string>> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'referral-webhooks/1',
    'X-Service-Event': event,
    ...(traceparent && { traceparent }),
    ...(await signatureHeaders(secret, body, signed)),
  }
}

/**
 * The signature headers, computed by the package that receivers verify them with. Without a secret
 * `X-Service-Signature` is empty and `webhook-signature` is omitted.
 */
export async function signatureHeaders(
  secret: string | string[] | undefined,
  body: string,
  { id, at }: { id: string; at: number },
): Promise<Record<string, string>> {
  const timestamp = Math.floor(at / 1000)
  if (secret === undefined) {
    return { 'X-Service-Signature': '', 'webhook-id': id, 'webhook-timestamp': String(timestamp) }
  }
  return { ...(await signWebhook(body, secret, { id, timestamp })) }
}
