import { sql } from 'kysely'
import type { Reader, Transaction } from '../database/database.ts'
import type { StoreNoticeRow } from '../database/tables.ts'

type NoticeOfOrder = Pick<StoreNoticeRow, 'orderId' | 'kind'>

/** Whether a notification of this kind is stored for an order. */
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

/** The stored notifications of an order: cancellations first, then refunds in the order of receipt. */
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

/** The refunds that are stored for an order, with the length of their bodies. */
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

/** Stores a notification unless it is stored already. */
export async function insertStoreNoticeIfNew(
  trx: Transaction,
  shopId: string,
  row: Omit<StoreNoticeRow, 'shopId'>,
): Promise<void> {
  await trx
    .insertInto('storeNotices')
    .values({ ...row, shopId })
    .onConflict((conflict) => conflict.columns(['shopId', 'orderId', 'kind', 'noticeId']).doNothing())
    .execute()
}
