import { sql } from 'kysely'
import { isOneOf } from '../../core/queries.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { findRow, findRows } from '../../database/rows.ts'
import type { OrderNoticeRow, OrderPaymentRow } from '../../database/tables.ts'

/** Whether a cancellation is stored for an order. */
export const isOrderCanceled = async (db: Reader, shopId: string, orderId: string): Promise<boolean> =>
  (await findRow(db, 'orderNotices', { shopId, orderId, kind: 'canceled' })) !== undefined

/**
 * An order's stored notices: first cancellations, including refunds' cancellations, then refunds in order of receipt.
 */
export async function listOrderNotices(db: Reader, shopId: string, orderId: string): Promise<OrderNoticeRow[]> {
  const rows = await findRows(db, 'orderNotices', { shopId, orderId })
  // Sorted here, because merged reads may not keep an order.
  return rows.length > 1 ? rows.sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1)) : rows
}

const sortKey = ({ kind, createdAt, noticeId }: OrderNoticeRow) => `${kind}\n${createdAt}\n${noticeId}`

/** The cancellations of up to a page of orders. */
export const listCancellations = (
  db: Reader,
  shopId: string,
  orderIds: string[],
): Promise<Pick<OrderNoticeRow, 'orderId' | 'body' | 'createdAt'>[]> =>
  db
    .selectFrom('orderNotices')
    .select(['orderId', 'body', 'createdAt'])
    .where('shopId', '=', shopId)
    .where(isOneOf(db, 'orderId', orderIds))
    .where('kind', '=', 'canceled')
    .execute()

/** The refunds that are stored for an order, and those that were canceled, with the length of their bodies. */
export const listStoredRefunds = (
  db: Reader,
  shopId: string,
  orderId: string,
): Promise<{ kind: OrderNoticeRow['kind']; noticeId: string; length: number }[]> =>
  db
    .selectFrom('orderNotices')
    .select(['kind', 'noticeId', sql<number>`length(body)`.as('length')])
    .where('shopId', '=', shopId)
    .where('orderId', '=', orderId)
    .where('kind', 'in', ['refund', 'canceledRefund'])
    .execute()

/** The orders that have notices from before an instant, by id, starting after one. */
export async function listOrdersWithNotices(
  db: Reader,
  { shopId, after, before, limit }: { shopId: string; after: string; before: string; limit: number },
): Promise<{ orderIds: string[]; last: string | undefined }> {
  const rows = await db
    .selectFrom('orderNotices')
    .select(['orderId', 'createdAt'])
    .where('shopId', '=', shopId)
    .where('orderId', '>', after)
    .orderBy('orderId')
    .limit(limit)
    .execute()
  const old = rows.filter(({ createdAt }) => createdAt < before)
  const last = rows.length < limit ? undefined : rows.at(-1)?.orderId
  return { orderIds: [...new Set(old.map(({ orderId }) => orderId))], last }
}

/** Deletes the notices of these orders from before an instant, unless the order was reported: it may still be credited. */
export async function deletePendingNotices(
  trx: Transaction,
  { shopId, orderIds, before }: { shopId: string; orderIds: string[]; before: string },
): Promise<void> {
  const reported = trx
    .selectFrom('orders')
    .select('orderId')
    .where('shopId', '=', shopId)
    .where('orderId', 'in', orderIds)
  await trx
    .deleteFrom('orderNotices')
    .where('shopId', '=', shopId)
    .where('orderId', 'in', orderIds)
    .where('orderId', 'not in', reported)
    .where('createdAt', '<', before)
    .execute()
}

/** Stores a notice unless it is stored already. */
export async function insertOrderNoticeIfNew(
  trx: Transaction,
  shopId: string,
  row: Omit<OrderNoticeRow, 'shopId'>,
): Promise<void> {
  await trx
    .insertInto('orderNotices')
    .values({ ...row, shopId })
    .onConflict((conflict) => conflict.columns(['shopId', 'orderId', 'kind', 'noticeId']).doNothing())
    .execute()
}

/** Returns whether the payment was new. */
export async function insertPaymentIfNew(
  trx: Transaction,
  shopId: string,
  payment: Pick<OrderPaymentRow, 'paymentId' | 'orderId'>,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows: inserted } = await trx
    .insertInto('orderPayments')
    .values({ ...payment, shopId })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return inserted === 1n
}
