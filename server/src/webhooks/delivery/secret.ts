import type { Vault } from '../../core/vault.ts'

/** Encrypts a subscription's secret for storage, bound to that subscription. */
export const sealSecret = (vault: Vault, subscriptionId: string, secret: string): string =>
  vault.seal(secret, subscriptionId)

/** Decrypts the secret; null when no encryption key fits. */
export const openSecret = (vault: Vault, subscriptionId: string, sealed: string): string | null =>
  vault.open(sealed, subscriptionId)
