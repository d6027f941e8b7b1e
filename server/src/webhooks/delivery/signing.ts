import { signWebhook } from '@referral/webhook-verifier/sender'
import type { Vault } from '../../core/vault.ts'

/** A subscription's secret as it is stored: sealed, and tied to that subscription. */
export const sealSecret = (vault: Vault, subscriptionId: string, secret: string): string =>
  vault.seal(secret, subscriptionId)

/** The secret again; null when no encryption key opens it. */
export const openSecret = (vault: Vault, subscriptionId: string, sealed: string): string | null =>
  vault.open(sealed, subscriptionId)

/**
 * The headers that name and prove a delivery (Standard Webhooks and `X-Service-Signature`), made by the package that receivers
 * check them with. Without a secret there is nothing to prove: `X-Service-Signature` is empty and `webhook-signature` is
 * left out. Of several the first is the one that counts, the others sign the Standard Webhooks header too. `at` is in
 * milliseconds.
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
