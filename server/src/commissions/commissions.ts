import { conflict, notFound } from '../contract/errors.ts'
import type { Query } from '../contract/spec.ts'
import type { Context } from '../core/context.ts'
import { isDeepPage, readCursor } from '../core/pagination.ts'
import { readList } from '../core/report.ts'
import { checkPeriod, parseQueryInstant } from '../core/time.ts'
import type { Reader } from '../database/database.ts'
import type { CommissionRow, OrderRow, PayoutBatchRow } from '../database/tables.ts'
import { findOrder } from '../orders/queries.ts'
import { findBatch } from '../payouts/queries.ts'
import { commissionList, readsManyRows } from './list-queries.ts'

/**
 * Lists commissions by `happenedAt`, newest first.
 *
 * @throws ApiError 400 `invalid_parameter` or `period_invalid`.
 */
export async function list(ctx: Context, query: Query<'listCommissions'>) {
  const bounds = checkPeriod(parseQueryInstant('from', query.from), parseQueryInstant('to', query.to))
  const externalOrderId = query.externalOrderId?.trim()
  const start = await readCursor(ctx, 'commissions', query)
  const filter = { ...query, ...bounds, externalOrderId }
  return readList(ctx, commissionList, { ...filter, start }, readsManyRows(filter, isDeepPage(query)))
}

export const commissionNotFound = () =>
  notFound('commission_not_found', 'No commission with this id exists in your shop.')

export const adjustmentRejected = () =>
  conflict('commission_is_adjustment', 'This commission is an adjustment of another commission and cannot be changed.')

export interface EffectiveStatus {
  /** The stored status, or `PAID` while its batch is being paid. */
  status: CommissionRow['orderStatus']
  /** The batch that it can still leave. */
  batch: PayoutBatchRow | undefined
}

/** Commissions of a batch that is processing or paid count as paid; those of an open or failed batch do not. */
export async function findEffectiveStatus(ctx: Context, db: Reader, row: CommissionRow): Promise<EffectiveStatus> {
  const { orderStatus: status } = row
  if (status !== 'PAYABLE' || row.payoutBatchId === null) return { status, batch: undefined }
  const batch = await findBatch(db, ctx.shop.id, row.payoutBatchId)
  return batch?.status === 'PROCESSING' || batch?.status === 'PAID'
    ? { status: 'PAID', batch: undefined }
    : { status, batch }
}

/** The order that a commission was recorded for. Every commission except an adjustment has one. */
export async function findRecordedOrder(ctx: Context, db: Reader, orderId: string): Promise<OrderRow> {
  const order = await findOrder(db, ctx.shop.id, orderId)
  if (!order) throw new Error('The order of a commission is missing')
  return order
}
