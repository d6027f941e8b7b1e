import { createHmac } from 'node:crypto'

/** An event to send, at a time in milliseconds since 1970. */
interface SentEvent {
  id: string
  event: string
  body: string
  traceparent: string | null
  at: number
}

/**
 * The request headers of a delivery, with its ID and signatures.
 *
 * @param secret undefined for a subscription without one. If there are several, the first signs both headers, and the
 * others also sign the Standard Webhooks header.
 */
export function deliveryHeaders(
  secret: string | string[] | undefined,
  { event, body, traceparent, ...signed }: SentEvent,
): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'referral-webhooks/1',
    'X-Service-Event': event,
    ...(traceparent && { traceparent }),
    ...signatureHeaders(secret, body, signed),
  }
}

/**
 * The signature headers: `X-Service-Signature` over the body, and `webhook-signature` of Standard Webhooks over ID, time and
 * body. Without a secret the first is empty and the second is omitted.
 */
export function signatureHeaders(
  secret: string | string[] | undefined,
  body: string,
  { id, at }: { id: string; at: number },
): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000))
  const [first, ...others] = [secret ?? []].flat()
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp }
  if (first === undefined) return { 'X-Service-Signature': '', ...headers }
  const hmac = (key: string, text: string) => createHmac('sha256', key).update(text)
  return {
    'X-Service-Signature': hmac(first, body).digest('hex'),
    ...headers,
    'webhook-signature': [first, ...others]
      .map((key) => `v1,${hmac(key, `${id}.${timestamp}.${body}`).digest('base64')}`)
      .join(' '),
  }
}
