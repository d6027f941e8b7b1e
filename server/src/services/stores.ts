import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Deps } from '../context.ts'
import type { ShopRow } from '../db/tables.ts'
import { findShop } from '../repositories/shops.ts'
import { openStoreSecret } from './store-secret.ts'

/** A notification as it arrived; `signature` in base64. */
export interface SignedBytes {
  bytes: Uint8Array
  signature: string
}

/** The shop, when the bytes were signed with its secret; compared in constant time. */
export async function findStore(
  deps: Pick<Deps, 'db' | 'vault'>,
  shopId: string,
  { bytes, signature }: SignedBytes,
): Promise<ShopRow | undefined> {
  const shop = await findShop(deps.db.read, shopId)
  if (!shop?.storeWebhookSecret) return undefined
  const secret = openStoreSecret(deps, shop.id, shop.storeWebhookSecret)
  if (secret === null) return undefined
  const expected = createHmac('sha256', secret).update(bytes).digest()
  const given = Buffer.from(signature, 'base64')
  return given.length === expected.length && timingSafeEqual(given, expected) ? shop : undefined
}
