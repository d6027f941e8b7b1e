import { createHmac, type KeyObject } from 'node:crypto'
import type { Vault } from '../vault.ts'

/** A subscription's secret as it is stored: sealed, and tied to that subscription. */
export const sealSecret = (vault: Vault, subscriptionId: string, secret: string): string =>
  vault.seal(secret, subscriptionId)

/** The secret again; null when no encryption key opens it. */
export const openSecret = (vault: Vault, subscriptionId: string, sealed: string): string | null =>
  vault.open(sealed, subscriptionId)

/**
 * The headers that prove a delivery (section 6.3 and Standard Webhooks). Without a secret there is nothing to prove,
 * and the signature is empty. `at` is in milliseconds. They are what `signWebhook` of the verifier's sender makes, at a
 * fifth of its cost: Web Crypto takes each digest to another thread and back.
 */
export function signatureHeaders(
  secret: KeyObject | undefined,
  body: string,
  { id, at }: { id: string; at: number },
): Record<string, string> {
  if (secret === undefined) return { 'X-Service-Signature': '' }
  const timestamp = `${Math.floor(at / 1000)}`
  const signed = createHmac('sha256', secret).update(`${id}.${timestamp}.`).update(body)
  return {
    'X-Service-Signature': createHmac('sha256', secret).update(body).digest('hex'),
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signed.digest('base64')}`,
  }
}
