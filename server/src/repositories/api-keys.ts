import type { Trx } from '../db/database.ts'
import type { ApiKeyRow } from '../db/tables.ts'
import { prepared } from './prepared.ts'

const byHash = prepared<{ secretHash: string }>()((db, { secretHash }) =>
  db.selectFrom('apiKeys').selectAll().where('secretHash', '=', secretHash).compile(),
)

export const findKeyByHash = async (db: Trx, secretHash: string): Promise<ApiKeyRow | undefined> =>
  (await byHash(db, { secretHash }))[0]

export const findApiKey = (db: Trx, shopId: string, id: string): Promise<ApiKeyRow | undefined> =>
  db.selectFrom('apiKeys').selectAll().where('shopId', '=', shopId).where('id', '=', id).executeTakeFirst()

/** Newest first. */
export const listApiKeys = (db: Trx, shopId: string): Promise<ApiKeyRow[]> =>
  db
    .selectFrom('apiKeys')
    .selectAll()
    .where('shopId', '=', shopId)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .execute()

export async function insertApiKey(trx: Trx, shopId: string, row: Omit<ApiKeyRow, 'shopId'>): Promise<void> {
  await trx
    .insertInto('apiKeys')
    .values({ shopId, ...row })
    .execute()
}

export async function deleteApiKeys(trx: Trx, shopId: string, ids: string[]): Promise<void> {
  await trx.deleteFrom('apiKeys').where('shopId', '=', shopId).where('id', 'in', ids).execute()
}

/** Changes a key that is alive and still has the secret that was read. Answers whether it was. */
export async function claimApiKey(
  trx: Trx,
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

const noteUse = prepared<{ shopId: string; id: string; lastUsedAt: string }>()((trx, { shopId, id, lastUsedAt }) =>
  trx.updateTable('apiKeys').set({ lastUsedAt }).where('shopId', '=', shopId).where('id', '=', id).compile(),
)

export async function updateLastUsed(trx: Trx, shopId: string, id: string, lastUsedAt: string): Promise<void> {
  await noteUse(trx, { shopId, id, lastUsedAt })
}
