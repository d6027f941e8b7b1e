import { createHmac, timingSafeEqual } from 'node:crypto'
import { findShop } from '../accounts/shop-queries.ts'
import { openStoreSecret } from '../accounts/store-connection.ts'
import type { Deps } from '../core/context.ts'
import type { Reader } from '../database/access.ts'
import type { ShopRow } from '../database/tables.ts'

/** A shop that takes notifications, with the secret that they are signed with. */
export interface Store {
  shop: ShopRow
  secret: string
}

/** The shop as `db` sees it; undefined when it does not exist or takes no notifications. */
export async function findStore(deps: Pick<Deps, 'vault'>, db: Reader, shopId: string): Promise<Store | undefined> {
  const shop = await findShop(db, shopId)
  if (!shop?.storeWebhookSecret) return undefined
  const secret = openStoreSecret(deps, shop.id, shop.storeWebhookSecret)
  return secret === null ? undefined : { shop, secret }
}

/** Whether the signature is that of the bytes; compared in constant time. */
export function isSigned(bytes: Uint8Array, { secret, signature }: { secret: string; signature: Uint8Array }): boolean {
  const expected = createHmac('sha256', secret).update(bytes).digest()
  return signature.length === expected.length && timingSafeEqual(signature, expected)
}
