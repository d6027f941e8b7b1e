import type { Trx } from '../db/database.ts'
import type { ApiKeyRow } from '../db/tables.ts'

export const findKeyByHash = (db: Trx, secretHash: string): Promise<ApiKeyRow | undefined> =>
  db.selectFrom('apiKeys').selectAll().where('secretHash', '=', secretHash).executeTakeFirst()

export async function insertApiKey(trx: Trx, shopId: string, row: Omit<ApiKeyRow, 'shopId'>): Promise<void> {
  await trx
    .insertInto('apiKeys')
    .values({ shopId, ...row })
    .execute()
}

export async function updateLastUsed(trx: Trx, shopId: string, id: string, lastUsedAt: string): Promise<void> {
  await trx.updateTable('apiKeys').set({ lastUsedAt }).where('shopId', '=', shopId).where('id', '=', id).execute()
}
