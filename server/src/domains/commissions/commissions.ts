import { conflict, notFound } from '../../contract/errors.ts'
import type { Query } from '../../contract/spec.ts'
import type { Context } from '../../core/context.ts'
import { readerOf, readFrom } from '../../core/lists.ts'
import { readCursor, type Uncounted } from '../../core/pagination.ts'
import { countByStatus } from '../../core/queries.ts'
import { checkPeriod, parseQueryInstant } from '../../core/time.ts'
import type { Reader } from '../../database/database.ts'
import type { CommissionRow, OrderRow, PayoutBatchRow, PayoutJobRow } from '../../database/tables.ts'
import { commissionList, effectiveCommissionList } from '../ledger/commission-lists.ts'
import { findCommission, findCommissionsById } from '../ledger/commissions.ts'
import { isInterim, isReservation, listJobs, steppedColumns } from '../ledger/jobs.ts'
import { findOrder } from '../ledger/orders.ts'
import { findSentFile } from '../ledger/payment-lines.ts'
import { findBatch } from '../ledger/payouts.ts'

/**
 * Lists commissions by `happenedAt`, newest first.
 *
 * @throws ApiError 400 `invalid_parameter` or `period_invalid`.
 */
export const list = readerOf(commissionList, async (ctx: Context, query: Query<'listCommissions'> & Uncounted) => {
  const bounds = checkPeriod(parseQueryInstant('from', query.from), parseQueryInstant('to', query.to))
  const externalOrderId = query.externalOrderId?.trim()
  const start = await readCursor(ctx, 'commissions', query)
  const filter = { ...query, ...bounds, externalOrderId }
  const { isChanging, ...page } = await readFrom(ctx, commissionList, { ...filter, start })
  if (!isChanging && !page.data.some(isInterim)) return page
  return readFrom(ctx, effectiveCommissionList, { ...filter, start })
})

/**
 * The exact number of commissions by status, of an affiliate or a program if given. Undefined while a batch of the shop
 * changes in steps, when the stored counts differ from what users see.
 */
export async function countsByStatus(
  { db, shop }: Context,
  { affiliateId, programId }: Pick<Query<'listCommissions'>, 'affiliateId' | 'programId'>,
): Promise<Map<string, number> | undefined> {
  if ((await listJobs(db.read, shop.id)).length > 0) return undefined
  const own = { ...(affiliateId && { scope: affiliateId }), ...(programId && { programId }) }
  return countByStatus(db.read, shop.id, { list: 'commissions', ...own })
}

/** The order, currencies and amount of commissions, by their ids. */
export async function findOrdersOf(
  { db, shop }: Context,
  ids: string[],
): Promise<Map<string, Pick<CommissionRow, OrderField>>> {
  return new Map((await findCommissionsById(db.read, shop.id, [...new Set(ids)])).map((row) => [row.id, row]))
}

type OrderField = 'orderId' | 'orderName' | 'externalOrderId' | 'currency' | 'orderCurrency' | 'commissionAmountCents'

export const commissionNotFound = () =>
  notFound('commission_not_found', 'No commission with this id exists in your shop.')

export const adjustmentRejected = () =>
  conflict('commission_is_adjustment', 'This commission is an adjustment and cannot be changed.')

export interface EffectiveStatus {
  /** The commission as users see it. */
  row: CommissionRow
  /** The columns in which it differs from the stored row, to be written with the next change. */
  unwritten: Partial<CommissionRow>
  /** The status of `row`, or `PAID` while its batch is being paid. */
  status: CommissionRow['orderStatus']
  /** The batch that it can still leave. */
  batch: PayoutBatchRow | undefined
  /** The file in which the payment of its affiliate in the batch was sent, while the row is still `PAYABLE`. */
  sentFileId: string | undefined
  /** The construction that has reserved it. */
  reservedBy: PayoutJobRow | undefined
}

/**
 * Commissions of a batch that is processing or paid count as paid, and so do those of a payment that was sent. Others of
 * an open or failed batch do not.
 */
export async function findEffectiveStatus(ctx: Context, db: Reader, stored: CommissionRow): Promise<EffectiveStatus> {
  const { current, job } = await findJobOf(db, stored)
  const reservedBy = job && isReservation(job.phase) ? job : undefined
  const unwritten = job ? steppedColumns(job, current) : {}
  const isUnbatched = reservedBy || (!job && isInterim(current))
  const row = { ...current, ...unwritten, ...(isUnbatched && { payoutBatchId: null }) }
  const found = { row, unwritten, reservedBy, status: row.orderStatus, batch: undefined, sentFileId: undefined }
  if (row.orderStatus !== 'PAYABLE' || row.payoutBatchId === null) return found
  const batch = await findBatch(db, ctx.shop.id, row.payoutBatchId)
  if (batch?.status === 'PROCESSING' || batch?.status === 'PAID') return { ...found, status: 'PAID' }
  const payment = { batchId: row.payoutBatchId, affiliateId: row.affiliateId }
  const sentFileId = await findSentFile(db, ctx.shop.id, payment)
  return sentFileId === undefined ? { ...found, batch } : { ...found, status: 'PAID', sentFileId }
}

/** A reservation does not change the version of a commission, so `stored` may have been read before it. */
async function findJobOf(db: Reader, stored: CommissionRow) {
  const jobs = await listJobs(db, stored.shopId)
  const found = jobs.length > 0 ? await findCommission(db, stored.shopId, stored.id) : undefined
  const current = found?.version === stored.version ? found : stored
  return { current, job: jobs.find(({ batchId }) => batchId === current.payoutBatchId) }
}

/** The order that a commission was recorded for. Every commission except an adjustment has one. */
export async function findRecordedOrder(ctx: Context, db: Reader, orderId: string): Promise<OrderRow> {
  const order = await findOrder(db, ctx.shop.id, orderId)
  if (!order) throw new Error('The order of a commission is missing')
  return order
}
