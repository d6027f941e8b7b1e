import { conflict, notFound, payoutProcessing } from '../../contract/errors.ts'
import type { Query } from '../../contract/spec.ts'
import type { Context } from '../../core/context.ts'
import { defineReader, readFrom } from '../../core/lists.ts'
import { type Mutation, mutate } from '../../core/mutate.ts'
import { readCursor, type Uncounted } from '../../core/pagination.ts'
import { countByStatus } from '../../core/queries.ts'
import { checkPeriod, parseQueryInstant } from '../../core/time.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import type { CommissionRow, OrderRow, PayoutBatchRow } from '../../database/tables.ts'
import { commissionList, commissionText } from '../ledger/commission-lists.ts'
import { findCommission, findCommissionsById } from '../ledger/commissions.ts'
import { findOrder } from '../ledger/orders.ts'
import { findSentFile } from '../ledger/payment-lines.ts'
import { findBatch } from '../ledger/payouts.ts'

/**
 * Lists commissions by `happenedAt`, newest first.
 *
 * @throws ApiError 400 `invalid_parameter` or `period_invalid`.
 */
export const list = defineReader(commissionList, async (ctx: Context, query: ListQuery) =>
  readFrom(ctx, commissionList, await toStoredQuery(ctx, query)),
)

/** {@link list} as the text of a response. */
export const listAsText = async (ctx: Context, query: ListQuery) =>
  readFrom(ctx, commissionText, await toStoredQuery(ctx, query))

type ListQuery = Query<'listCommissions'> & Uncounted

async function toStoredQuery(ctx: Context, query: ListQuery) {
  const bounds = checkPeriod(parseQueryInstant('from', query.from), parseQueryInstant('to', query.to))
  const externalOrderId = query.externalOrderId?.trim()
  const start = await readCursor(ctx, 'commissions', query)
  return { ...query, ...bounds, externalOrderId, start }
}

/** The exact number of commissions by status, optionally for one affiliate or program. */
export function countsByStatus(
  { db, shop }: Context,
  { affiliateId, programId }: Pick<Query<'listCommissions'>, 'affiliateId' | 'programId'>,
): Promise<Map<string, number>> {
  const filter = { ...(affiliateId && { scope: affiliateId }), ...(programId && { programId }) }
  return countByStatus(db.read, shop.id, { list: 'commissions', ...filter })
}

/** The order, currencies, and amount of commissions, by commission ID. */
export async function findOrdersOf(
  { db, shop }: Context,
  ids: string[],
): Promise<Map<string, Pick<CommissionRow, OrderField>>> {
  return new Map((await findCommissionsById(db.read, shop.id, [...new Set(ids)])).map((row) => [row.id, row]))
}

type OrderField = 'orderId' | 'orderName' | 'externalOrderId' | 'currency' | 'orderCurrency' | 'commissionAmountCents'

const commissionNotFound = () => notFound('commission_not_found', 'No commission with this id exists in your shop.')

export const adjustmentRejected = () =>
  conflict('commission_is_adjustment', 'This commission is an adjustment and cannot be changed.')

export interface EffectiveStatus {
  /** The commission's status, or `PAID` if its payment was sent. */
  status: CommissionRow['orderStatus']
  /** The batch, if the commission can still leave it. */
  batch: PayoutBatchRow | undefined
  /** The file in which the affiliate's payment was sent, while the row is still `PAYABLE`. */
  sentFileId: string | undefined
}

/**
 * Commissions in a sent payment count as paid. Others in an open or failed batch do not.
 *
 * @throws ApiError 409 `payout_processing` while the commissions of its batch move.
 */
export async function findEffectiveStatus(ctx: Context, db: Reader, row: CommissionRow): Promise<EffectiveStatus> {
  const status = { status: row.orderStatus, batch: undefined, sentFileId: undefined }
  if (row.payoutBatchId === null) return status
  const batch = await findBatch(db, ctx.shop.id, row.payoutBatchId)
  if (batch?.status === 'PROCESSING') throw payoutProcessing()
  if (row.orderStatus !== 'PAYABLE') return status
  const payment = { batchId: row.payoutBatchId, affiliateId: row.affiliateId }
  const sentFileId = await findSentFile(db, ctx.shop.id, payment)
  return sentFileId === undefined ? { ...status, batch } : { ...status, status: 'PAID', sentFileId }
}

/**
 * Changes a commission. A change by another request since this one arrived is a conflict. While the commission's batch
 * is moving rows, the change waits and then starts from the batch's result.
 *
 * @throws ApiError 404 `commission_not_found`, 409 `payout_processing`.
 */
export async function change<T>(
  ctx: Context,
  id: string,
  work: (trx: Transaction, before: CommissionRow) => Promise<Mutation<T>>,
): Promise<T> {
  const { db, shop } = ctx
  const isMoving = async (reader: Reader, { payoutBatchId }: CommissionRow) =>
    payoutBatchId !== null && (await findBatch(reader, shop.id, payoutBatchId))?.status === 'PROCESSING'
  const commission = await findCommission(db.read, shop.id, id)
  if (!commission) throw commissionNotFound()
  let hasMoved = await isMoving(db.read, commission)
  return mutate(ctx, async (trx) => {
    const now = await findCommission(trx, shop.id, id)
    if (!now) throw commissionNotFound()
    if (await isMoving(trx, now)) {
      hasMoved = true
      throw payoutProcessing()
    }
    return work(trx, hasMoved ? now : commission)
  })
}

/** The order that a commission was recorded for. Only adjustments have none. */
export async function findRecordedOrder(ctx: Context, db: Reader, orderId: string): Promise<OrderRow> {
  const order = await findOrder(db, ctx.shop.id, orderId)
  if (!order) throw new Error('The order of a commission is missing')
  return order
}
