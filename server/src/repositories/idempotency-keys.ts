import type { Trx } from '../db/database.ts'
import type { IdempotencyKeyRow } from '../db/tables.ts'
import { prepared, preparedInsert } from './prepared.ts'

const byKey = prepared<{ shopId: string; key: string }>()((db, { shopId, key }) =>
  db.selectFrom('idempotencyKeys').selectAll().where('shopId', '=', shopId).where('key', '=', key).compile(),
)

export const findKey = async (db: Trx, shopId: string, key: string): Promise<IdempotencyKeyRow | undefined> =>
  (await byKey(db, { shopId, key }))[0]

const insertOne = preparedInsert('idempotencyKeys')

export const insertKey = (trx: Trx, shopId: string, row: Omit<IdempotencyKeyRow, 'shopId'>): Promise<void> =>
  insertOne(trx, { shopId, ...row })

const deleteExpired = prepared<{ shopId: string; key: string; now: string }>()((trx, { shopId, key, now }) =>
  trx
    .deleteFrom('idempotencyKeys')
    .where('shopId', '=', shopId)
    .where('key', '=', key)
    .where('expiresAt', '<=', now)
    .compile(),
)

/** An expired key may be used again. */
export async function deleteExpiredKey(trx: Trx, shopId: string, key: string, now: string): Promise<void> {
  await deleteExpired(trx, { shopId, key, now })
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
