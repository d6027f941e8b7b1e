import type { Trx } from '../db/database.ts'
import type { IdempotencyKeyRow } from '../db/tables.ts'

export const findKey = (db: Trx, shopId: string, key: string) =>
  db.selectFrom('idempotencyKeys').selectAll().where('shopId', '=', shopId).where('key', '=', key).executeTakeFirst()

export async function insertKey(trx: Trx, shopId: string, row: Omit<IdempotencyKeyRow, 'shopId'>): Promise<void> {
  await trx
    .insertInto('idempotencyKeys')
    .values({ shopId, ...row })
    .execute()
}

/** An expired key may be used again. */
export async function deleteExpiredKey(trx: Trx, shopId: string, key: string, now: string): Promise<void> {
  await trx
    .deleteFrom('idempotencyKeys')
    .where('shopId', '=', shopId)
    .where('key', '=', key)
    .where('expiresAt', '<=', now)
    .execute()
}

/** Deletes some expired replies of all shops. Answers whether there may be more. */
export async function deleteExpiredKeys(trx: Trx, now: string, limit = 500): Promise<boolean> {
  const rows = await trx
    .selectFrom('idempotencyKeys')
    .select(['shopId', 'key'])
    .where('expiresAt', '<=', now)
    .limit(limit)
    .execute()
  for (const { shopId, key } of rows) await deleteExpiredKey(trx, shopId, key, now)
  return rows.length === limit
}
