import { concurrentChange, conflict } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import { type Context, nowIso } from '../core/context.ts'
import { type AuditEntry, mutate } from '../core/mutate.ts'
import type { Transaction } from '../database/access.ts'
import type { CommissionRow } from '../database/tables.ts'
import { refundTarget } from '../engine/refund.ts'
import { recomputeBatch } from '../payouts/batch.ts'
import { clawback } from './adjustments.ts'
import { commissionNotFound, isAdjustment, orderOf, type Standing, standingOf } from './commissions.ts'
import { claimCommission, findCommission, insertCommission } from './queries.ts'
import { snapshotOf } from './refund-snapshot.ts'
import { findRefunded } from './refunds.ts'
import { reopened } from './reopen.ts'
import { toCommission } from './response.ts'

export type Action = components['schemas']['ModerationAction']
type Status = CommissionRow['orderStatus']

interface Move {
  from: Status[]
  to: Status
  /** The audit's word for it, and how a refusal ends. */
  done: string
}

/** What may become of a commission by hand (section 3); anything else is refused. */
export const MOVES: Record<Action, Move> = {
  approve: { from: ['PENDING'], to: 'APPROVED', done: 'approved' },
  reject: { from: ['PENDING', 'APPROVED', 'ACCEPTED'], to: 'REJECTED', done: 'rejected' },
  cancel: { from: ['PENDING', 'APPROVED', 'ACCEPTED', 'PAYABLE'], to: 'CANCELED', done: 'canceled' },
  reverse: { from: ['PAID'], to: 'REVERSED', done: 'reversed' },
  reopen: { from: ['REJECTED'], to: 'PENDING', done: 'reopened' },
}

export interface Moved {
  row: CommissionRow
  audit: AuditEntry
  /** The batch it has left, whose totals are to be brought in line. */
  leftBatchId: string | undefined
}

/**
 * Moves one commission by hand.
 *
 * @throws ApiError 404 `commission_not_found`, 409 `commission_move_not_allowed`, `commission_is_adjustment`,
 *   `commission_still_restricted` or `concurrent_change`.
 */
export async function moderate(ctx: Context, action: Action, id: string): Promise<components['schemas']['Commission']> {
  const before = await findCommission(ctx.db.read, ctx.shop.id, id)
  if (!before) throw commissionNotFound()
  return mutate(ctx, async (trx) => {
    const { row, audit, leftBatchId } = await move(ctx, trx, action, before)
    if (leftBatchId) await recomputeBatch(trx, ctx, leftBatchId)
    return { result: toCommission(row), audit }
  })
}

/** One move in the caller's transaction, which brings the batch in line afterwards. Refuses before it writes. */
export async function move(ctx: Context, trx: Transaction, action: Action, before: CommissionRow): Promise<Moved> {
  const { from, to, done } = MOVES[action]
  if (before.trackingMethod === 'ADJUSTMENT') throw isAdjustment()
  const { status, batch } = await standingOf(ctx, trx, before)
  if (!from.includes(status) || status !== before.orderStatus) {
    throw conflict('commission_move_not_allowed', `This commission is ${before.orderStatus} and cannot be ${done}.`)
  }
  const changes = {
    orderStatus: to,
    updatedAt: nowIso(ctx),
    ...(batch && { payoutBatchId: null }),
    ...(action === 'reopen' && (await reopened(ctx, trx, before))),
  }
  if (!(await claimCommission(trx, ctx.shop.id, before, changes))) throw concurrentChange()
  const row = { ...before, ...changes, version: before.version + 1 }
  const data: AuditEntry['data'] = { previousStatus: before.orderStatus, status: to }
  if (action === 'reverse') Object.assign(data, await takeBack(ctx, trx, before))
  else data.amountCents = row.commissionAmountCents
  return {
    row,
    audit: { action: `commission.${done}`, subjectId: before.id, data },
    leftBatchId: leftBatch(batch),
  }
}

/** A failed batch keeps its totals; only those of an open one follow its rows. */
const leftBatch = (batch: Standing['batch']) => (batch?.status === 'OPEN' ? batch.id : undefined)

/** Takes back what a paid commission still comes to after its refunds. */
async function takeBack(ctx: Context, trx: Transaction, row: CommissionRow): Promise<AuditEntry['data']> {
  const snapshot = snapshotOf(await orderOf(ctx, trx, row.orderId))
  const left = refundTarget(snapshot, await findRefunded(trx, ctx.shop.id, row.id, snapshot))
  if (left.amountCents === 0) return { amountCents: 0, adjustmentId: null }
  const amounts = { amountCents: -left.amountCents, taxCents: -left.taxWithheldCents }
  const adjustment = clawback(ctx, row, { name: 'reversal', ...amounts })
  await insertCommission(trx, ctx.shop.id, adjustment)
  return { amountCents: amounts.amountCents, adjustmentId: adjustment.id }
}
