import type { Deps } from '../context.ts'

const boundTo = (shopId: string) => `store:${shopId}`

/** The secret that a store signs its notifications with, as it is stored: sealed, and tied to its shop. */
export const sealStoreSecret = ({ vault }: Pick<Deps, 'vault'>, shopId: string, secret: string): string =>
  vault.seal(secret, boundTo(shopId))

/** The secret again; null when no encryption key opens it. */
export const openStoreSecret = ({ vault }: Pick<Deps, 'vault'>, shopId: string, sealed: string): string | null =>
  vault.open(sealed, boundTo(shopId))
