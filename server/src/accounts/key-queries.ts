import { API_SWITCH } from '../core/installation-settings.ts'
import type { Reader, Transaction } from '../database/access.ts'
import { prepared, preparedWrite } from '../database/prepared.ts'
import type { ApiKeyRow, ShopRow } from '../database/tables.ts'

const keyWithShop = prepared<{ secretHash: string }>()((db, { secretHash }) =>
  db
    .selectFrom('apiKeys')
    .innerJoin('shops', 'shops.id', 'apiKeys.shopId')
    .selectAll('shops')
    .select([
      'apiKeys.id as keyId',
      'apiKeys.secretHash as keySecretHash',
      'apiKeys.scopes as keyScopes',
      'apiKeys.lastUsedAt as keyLastUsedAt',
      'apiKeys.expiresAt as keyExpiresAt',
      'apiKeys.revokedAt as keyRevokedAt',
      'apiKeys.limitSubject as keyLimitSubject',
    ])
    .select((all) =>
      all.selectFrom('instanceSettings').select('value').where('name', '=', API_SWITCH).as('installationSwitch'),
    )
    .where('apiKeys.secretHash', '=', secretHash)
    .compile(),
)

/** A key with everything that decides whether it opens the API. */
export interface KeyWithShop {
  key: Omit<ApiKeyRow, 'label' | 'prefix' | 'createdAt'>
  shop: ShopRow
  /** The kill switch of the whole installation is on. */
  isApiOff: boolean
}

/** One statement, because it runs twice for each change: before the body is read and in the transaction. */
export async function findKeyWithShop(db: Reader, secretHash: string): Promise<KeyWithShop | undefined> {
  const [row] = await keyWithShop(db, { secretHash })
  if (!row) return undefined
  const { keyId, keySecretHash, keyScopes, keyLastUsedAt, keyExpiresAt, keyRevokedAt, keyLimitSubject, ...rest } = row
  const { installationSwitch, ...shop } = rest
  const key = {
    id: keyId,
    shopId: shop.id,
    secretHash: keySecretHash,
    scopes: keyScopes,
    lastUsedAt: keyLastUsedAt,
    expiresAt: keyExpiresAt,
    revokedAt: keyRevokedAt,
    limitSubject: keyLimitSubject,
  }
  return { key, shop, isApiOff: installationSwitch === 'off' }
}

export const findApiKey = (db: Reader, shopId: string, id: string): Promise<ApiKeyRow | undefined> =>
  db.selectFrom('apiKeys').selectAll().where('shopId', '=', shopId).where('id', '=', id).executeTakeFirst()

/** Newest first. */
export const listApiKeys = (db: Reader, shopId: string): Promise<ApiKeyRow[]> =>
  db
    .selectFrom('apiKeys')
    .selectAll()
    .where('shopId', '=', shopId)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .execute()

export async function insertApiKey(trx: Transaction, shopId: string, row: Omit<ApiKeyRow, 'shopId'>): Promise<void> {
  await trx
    .insertInto('apiKeys')
    .values({ shopId, ...row })
    .execute()
}

export async function deleteApiKeys(trx: Transaction, shopId: string, ids: string[]): Promise<void> {
  await trx.deleteFrom('apiKeys').where('shopId', '=', shopId).where('id', 'in', ids).execute()
}

/** Changes a key that is alive and still has the secret that was read. Answers whether it was. */
export async function updateApiKeyIfUnchanged(
  trx: Transaction,
  shopId: string,
  row: ApiKeyRow,
  changes: Partial<ApiKeyRow>,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('apiKeys')
    .set(changes)
    .where('shopId', '=', shopId)
    .where('id', '=', row.id)
    .where('secretHash', '=', row.secretHash)
    .where('revokedAt', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

const setLastUsed = preparedWrite<{ shopId: string; id: string; lastUsedAt: string }>()(
  (trx, { shopId, id, lastUsedAt }) =>
    trx.updateTable('apiKeys').set({ lastUsedAt }).where('shopId', '=', shopId).where('id', '=', id).compile(),
)

export async function updateLastUsed(trx: Transaction, shopId: string, id: string, lastUsedAt: string): Promise<void> {
  await setLastUsed(trx, { shopId, id, lastUsedAt })
}
