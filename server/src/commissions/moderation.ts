import { concurrentChange, conflict } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import { type Context, nowIso } from '../core/context.ts'
import { type AuditEntry, mutate } from '../core/mutate.ts'
import type { Transaction } from '../database/access.ts'
import type { CommissionRow } from '../database/tables.ts'
import { refundTarget } from '../engine/refund.ts'
import { recomputeBatch } from '../payouts/batch.ts'
import { clawbackRow } from './adjustments.ts'
import {
  adjustmentRejected,
  commissionNotFound,
  type EffectiveStatus,
  findEffectiveStatus,
  findRecordedOrder,
} from './commissions.ts'
import { findCommission, insertCommission, updateCommissionIfUnchanged } from './queries.ts'
import { readRefundSnapshot } from './refund-snapshot.ts'
import { findRefundedGoods } from './refunds.ts'
import { decideAgain } from './reopen.ts'
import { toCommission } from './response.ts'

export type ModerationAction = components['schemas']['ModerationAction']
type Status = CommissionRow['orderStatus']

interface Transition {
  from: Status[]
  to: Status
  /** The audit's word for it, and how a refusal ends. */
  pastTense: string
}

/** What may become of a commission by hand (section 3); anything else is refused. */
export const TRANSITIONS: Record<ModerationAction, Transition> = {
  approve: { from: ['PENDING'], to: 'APPROVED', pastTense: 'approved' },
  reject: { from: ['PENDING', 'APPROVED', 'ACCEPTED'], to: 'REJECTED', pastTense: 'rejected' },
  cancel: { from: ['PENDING', 'APPROVED', 'ACCEPTED', 'PAYABLE'], to: 'CANCELED', pastTense: 'canceled' },
  reverse: { from: ['PAID'], to: 'REVERSED', pastTense: 'reversed' },
  reopen: { from: ['REJECTED'], to: 'PENDING', pastTense: 'reopened' },
}

export interface MovedCommission {
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
export async function moderate(
  ctx: Context,
  action: ModerationAction,
  id: string,
): Promise<components['schemas']['Commission']> {
  const before = await findCommission(ctx.db.read, ctx.shop.id, id)
  if (!before) throw commissionNotFound()
  return mutate(ctx, async (trx) => {
    const { row, audit, leftBatchId } = await moveCommission(ctx, trx, action, before)
    if (leftBatchId) await recomputeBatch(trx, ctx, leftBatchId)
    return { result: toCommission(row), audit }
  })
}

/** One move in the caller's transaction, which brings the batch in line afterwards. Refuses before it writes. */
export async function moveCommission(
  ctx: Context,
  trx: Transaction,
  action: ModerationAction,
  before: CommissionRow,
): Promise<MovedCommission> {
  const { from, to, pastTense: done } = TRANSITIONS[action]
  if (before.trackingMethod === 'ADJUSTMENT') throw adjustmentRejected()
  const { status, batch } = await findEffectiveStatus(ctx, trx, before)
  if (!from.includes(status) || status !== before.orderStatus) {
    throw conflict('commission_move_not_allowed', `This commission is ${before.orderStatus} and cannot be ${done}.`)
  }
  const changes = {
    orderStatus: to,
    updatedAt: nowIso(ctx),
    ...(batch && { payoutBatchId: null }),
    ...(action === 'reopen' && (await decideAgain(ctx, trx, before))),
  }
  if (!(await updateCommissionIfUnchanged(trx, ctx.shop.id, before, changes))) throw concurrentChange()
  const row = { ...before, ...changes, version: before.version + 1 }
  const data: AuditEntry['data'] = { previousStatus: before.orderStatus, status: to }
  if (action === 'reverse') Object.assign(data, await clawBackPaid(ctx, trx, before))
  else data.amountCents = row.commissionAmountCents
  return {
    row,
    audit: { action: `commission.${done}`, subjectId: before.id, data },
    leftBatchId: openBatchId(batch),
  }
}

/** A failed batch keeps its totals; only those of an open one follow its rows. */
const openBatchId = (batch: EffectiveStatus['batch']) => (batch?.status === 'OPEN' ? batch.id : undefined)

/** Takes back what a paid commission still comes to after its refunds. */
async function clawBackPaid(ctx: Context, trx: Transaction, row: CommissionRow): Promise<AuditEntry['data']> {
  const snapshot = readRefundSnapshot(await findRecordedOrder(ctx, trx, row.orderId))
  const left = refundTarget(snapshot, await findRefundedGoods(trx, ctx.shop.id, row.id, snapshot))
  if (left.amountCents === 0) return { amountCents: 0, adjustmentId: null }
  const amounts = { amountCents: -left.amountCents, taxCents: -left.taxWithheldCents }
  const adjustment = clawbackRow(ctx, row, { name: 'reversal', ...amounts })
  await insertCommission(trx, ctx.shop.id, adjustment)
  return { amountCents: amounts.amountCents, adjustmentId: adjustment.id }
}
