import { sql } from 'kysely'
import type { Reader, Transaction } from '../database/database.ts'
import type { StoreNoticeRow } from '../database/tables.ts'

type NoticeOfOrder = Pick<StoreNoticeRow, 'orderId' | 'kind'>

/** Whether a store has told this of an order. */
export async function hasStoreNotice(db: Reader, shopId: string, { orderId, kind }: NoticeOfOrder): Promise<boolean> {
  const found = await db
    .selectFrom('storeNotices')
    .select('noticeId')
    .where('shopId', '=', shopId)
    .where('orderId', '=', orderId)
    .where('kind', '=', kind)
    .executeTakeFirst()
  return found !== undefined
}

/** All a store has told of an order, cancellations first, refunds in the order they came. */
export const listStoreNotices = (db: Reader, shopId: string, orderId: string): Promise<StoreNoticeRow[]> =>
  db
    .selectFrom('storeNotices')
    .selectAll()
    .where('shopId', '=', shopId)
    .where('orderId', '=', orderId)
    .orderBy('kind')
    .orderBy('createdAt')
    .orderBy('noticeId')
    .execute()

/** The refunds that are kept for an order, with the length of their bodies. */
export const listStoredRefunds = (
  db: Reader,
  shopId: string,
  orderId: string,
): Promise<{ noticeId: string; length: number }[]> =>
  db
    .selectFrom('storeNotices')
    .select(['noticeId', sql<number>`length(body)`.as('length')])
    .where('shopId', '=', shopId)
    .where('orderId', '=', orderId)
    .where('kind', '=', 'refund')
    .execute()

/** Keeps a notice; the same one again changes nothing. */
export async function insertStoreNoticeIfNew(trx: Transaction, row: StoreNoticeRow): Promise<void> {
  await trx
    .insertInto('storeNotices')
    .values(row)
    .onConflict((conflict) => conflict.columns(['shopId', 'orderId', 'kind', 'noticeId']).doNothing())
    .execute()
}
