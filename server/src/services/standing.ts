import type { Context } from '../context.ts'
import type { Trx } from '../db/database.ts'
import type { CommissionRow, OrderRow, PayoutBatchRow } from '../db/tables.ts'
import { conflict, notFound } from '../errors.ts'
import { findOrder } from '../repositories/orders.ts'
import { findBatch } from '../repositories/payout-batches.ts'

/** 404 for a commission of nobody or of another shop. */
export const commissionNotFound = () =>
  notFound('commission_not_found', 'No commission with this id exists in your shop.')

/** 409 for a row that only belongs to another. */
export const isAdjustment = () =>
  conflict('commission_is_adjustment', 'This row is an adjustment of another commission and stays as it is.')

/** Where a commission stands on its way to being paid. */
export interface Standing {
  /** Its status, but `PAID` for what is being paid out right now. */
  status: CommissionRow['orderStatus']
  /** The batch it can still leave. */
  batch: PayoutBatchRow | undefined
}

/** Rows of a batch under way count as paid; those of an open or failed one do not (section 4.4). */
export async function standingOf(ctx: Context, trx: Trx, row: CommissionRow): Promise<Standing> {
  const { orderStatus: status } = row
  if (status !== 'PAYABLE' || row.payoutBatchId === null) return { status, batch: undefined }
  const batch = await findBatch(trx, ctx.shop.id, row.payoutBatchId)
  return batch?.status === 'PROCESSING' || batch?.status === 'PAID'
    ? { status: 'PAID', batch: undefined }
    : { status, batch }
}

/** The order a commission was recorded for. Every commission but an adjustment has one. */
export async function orderOf(ctx: Context, trx: Trx, orderId: string): Promise<OrderRow> {
  const order = await findOrder(trx, ctx.shop.id, orderId)
  if (!order) throw new Error('A commission has lost its order')
  return order
}
