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
