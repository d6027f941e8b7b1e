import { concurrentChange, conflict, conflictWithRemedy, invalid, invalidField } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { money } from '../../core/currencies.ts'
import type { Mutation } from '../../core/mutate.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { insertRow, updateIfUnchanged, updateRows } from '../../database/rows.ts'
import type { CommissionRow, RefundRow } from '../../database/tables.ts'
import { canceledRefundOf, cancellationIdOf, orderKey } from '../../engine/normalize.ts'
import type { Refund, RefundedGoods, RefundLine, RefundProblem } from '../../engine/refund.ts'
import {
  type AppliedRefund,
  applyRefund,
  type RefundSnapshot,
  type RefundTarget,
  refundTarget,
} from '../../engine/refund.ts'
import { updateTotals } from '../ledger/batch-totals.ts'
import {
  clawbackRow,
  findCommission,
  findRefund,
  findRefundTotals,
  insertCommission,
  toCommission,
} from '../ledger/commissions.ts'
import { isOrderCanceled } from '../ledger/order-notices.ts'
import {
  adjustmentRejected,
  change,
  type EffectiveStatus,
  findEffectiveStatus,
  findRecordedOrder,
} from './commissions.ts'
import { refundEvent, toRefund } from './event-queries.ts'
import { findRefundedGoods, readRefundSnapshot, recomputeRefundedGoods, storeRefundedGoods } from './refunded-goods.ts'

/** A refund to record. `amountCents` is goods net of discount. */
export interface RefundInput extends Refund {
  lineItems: RefundLine[]
  reason: string | null
  /** The store or backend has already refunded, so that excess amounts are cut off instead of rejected. */
  alreadyHappened?: boolean
  /** The amount's currency. Defaults to the order's, the only one allowed. */
  currency?: string | null
  /** When the goods were refunded; defaults to now. */
  occurredAt?: string | null
}

export interface RecordedRefund {
  row: CommissionRow
  refund: RefundRow
  /** Goods refunded so far, including this refund. */
  refundedCents: number
  /** Whether the refund ID was recorded or canceled before. Nothing was changed then. */
  alreadyRecorded: boolean
  /** Why the refund took less than its amount. */
  problem: RefundProblem | 'DIFFERS' | null
}

/** Refund warnings in responses and audit records. */
export const REFUND_WARNINGS = {
  DIFFERS: 'refund_differs',
  EXCEEDS_ORDER: 'refund_exceeds_order',
  UNKNOWN_ITEM: 'refund_item_unknown',
} as const

/** Statuses in which only a refund that has already happened can be recorded. */
const CLOSED_STATUSES: CommissionRow['orderStatus'][] = ['REJECTED', 'CANCELED', 'REVERSED']
/** Statuses whose amounts no longer change. A refund is stored without changing them. */
const FINAL_STATUSES: CommissionRow['orderStatus'][] = ['REJECTED', 'REVERSED']
/** A canceled order counts as unpaid, so that a refund and a cancellation have the same result in either order. */
const UNPAID_STATUSES: CommissionRow['orderStatus'][] = [
  'PENDING',
  'APPROVED',
  'ACCEPTED',
  'PAYABLE',
  'REFUNDED',
  'CANCELED',
]
const NO_CHANGE = { amountCents: 0, taxCents: 0 }
/** Reserved for the order IDs of other adjustments. */
const RESERVED_IDS = ['reversal', 'carry']

/**
 * Records a refund and takes back the commission on the returned goods, computed from the recorded order. The same
 * refund ID again changes nothing.
 *
 * @throws ApiError 400 `invalid_body` or `refund_item_unknown`, 404 `commission_not_found`, 409 `refund_exceeds_order`,
 * `commission_move_not_allowed`, `commission_is_adjustment` or `concurrent_change`.
 */
export async function refund(ctx: Context, id: string, body: Body<'refundCommission'>) {
  const input = toRefundInput(body)
  return change(ctx, id, async (trx, before) => {
    const { result, ...written } = await recordRefund(ctx, trx, before, input)
    const { alreadyRecorded } = result
    return { ...written, result: { data: toCommission(result.row), refund: toRefund(result.refund), alreadyRecorded } }
  })
}

/**
 * Records one refund of a commission in the caller's transaction: an unpaid commission is reduced, a paid one gets a
 * negative adjustment.
 *
 * @param snapshot the recorded order, if the caller has already read it
 */
export async function recordRefund(
  ctx: Context,
  trx: Transaction,
  before: CommissionRow,
  input: RefundInput,
  snapshot?: RefundSnapshot,
): Promise<Mutation<RecordedRefund>> {
  return writeRefund(ctx, trx, before, await planRefund(ctx, trx, before, { input, snapshot }))
}

async function writeRefund(
  ctx: Context,
  trx: Transaction,
  before: CommissionRow,
  { changes, ...plan }: RefundPlan,
): Promise<Mutation<RecordedRefund>> {
  if (!changes) return { result: plan, audit: null }
  if (!(await updateIfUnchanged(trx, 'commissions', before, changes.columns))) throw concurrentChange()
  const { commissionCents, taxCents } = plan.refund
  const change = { name: plan.refund.externalRefundId, amountCents: commissionCents, taxCents }
  const adjustment = changes.isClawback ? clawbackRow(ctx, before, change) : undefined
  if (adjustment) await insertCommission(trx, ctx.shop.id, adjustment)
  const refund = { ...plan.refund, adjustmentId: adjustment?.id ?? null }
  await insertRow(trx, 'refunds', refund)
  const { refunded, statusBefore } = changes
  await storeRefundedGoods(trx, ctx.shop.id, before.id, { refunded, refundedCents: plan.refundedCents, statusBefore })
  const { batch, sentFileId } = changes
  if (adjustment && sentFileId !== undefined)
    await updateRows(trx, 'payoutFiles', { shopId: ctx.shop.id, id: sentFileId }, { assumedPaid: 1 })
  const updated = batch && (await updateTotals(ctx, trx, batch.id, [{ before, after: plan.row }]))
  const { externalRefundId, goodsCents, adjustmentId } = refund
  const data = {
    externalRefundId,
    goodsCents,
    commissionCents,
    ...(taxCents !== 0 && { taxCents }),
    adjustmentId,
    status: plan.row.orderStatus,
    ...(plan.problem && { warning: REFUND_WARNINGS[plan.problem] }),
  }
  return {
    result: { ...plan, refund },
    audit: { action: 'commission.refunded', subjectId: before.id, data },
    events: [refundEvent(plan.row, refund, before.orderStatus), ...(updated?.events ?? [])],
  }
}

/**
 * A refund before it is written: its result, without an adjustment, and the changes. No changes if it was already
 * recorded.
 */
interface RefundPlan extends RecordedRefund {
  changes: RefundChanges | undefined
}

interface RefundChanges {
  columns: Partial<CommissionRow>
  refunded: RefundedGoods
  statusBefore: CommissionRow['orderStatus'] | null
  /** Set if the commission is paid, so that an adjustment takes the money back. */
  isClawback: boolean
  /** The batch whose totals change. */
  batch: EffectiveStatus['batch']
  sentFileId: EffectiveStatus['sentFileId']
}

/**
 * Computes what {@link recordRefund} writes, and throws the same errors.
 *
 * @throws ApiError as {@link recordRefund} does.
 */
export async function planRefund(
  ctx: Context,
  db: Reader,
  before: CommissionRow,
  { input, snapshot }: { input: RefundInput; snapshot?: RefundSnapshot | undefined },
): Promise<RefundPlan> {
  if (before.trackingMethod === 'ADJUSTMENT') throw adjustmentRejected()
  const ids = [input.refundId, cancellationIdOf(input.refundId)]
  const existing = await findRefund(db, ctx.shop.id, before.id, ids)
  if (existing) {
    const [stored, totals] = await Promise.all([
      findCommission(db, ctx.shop.id, before.id),
      findRefundTotals(db, ctx.shop.id, before.id),
    ])
    const row = stored ?? before
    const refundedCents = totals?.goodsCents ?? existing.goodsCents
    const isSame =
      existing.externalRefundId !== input.refundId ||
      (existing.amountCents === input.amountCents && existing.lineItems === JSON.stringify(input.lineItems))
    const problem = isSame ? null : 'DIFFERS'
    return { row, refund: existing, refundedCents, alreadyRecorded: true, problem, changes: undefined }
  }
  const effective = await findEffectiveStatus(ctx, db, before)
  const { status } = effective
  if (CLOSED_STATUSES.includes(status) && !input.alreadyHappened) throw notRefundable(status)
  if (status === 'REFUNDED' && !input.alreadyHappened) throw refundExceedsOrder(0, before.orderCurrency)
  if (!isInOrderCurrency(input, before)) throw currencyMismatch(before.orderCurrency)
  const applied = await applyToOrder(ctx, db, before, { input, snapshot })
  const totals = status === 'REFUNDED' ? await findRefundTotals(db, ctx.shop.id, before.id) : undefined
  return toPlan(ctx, before, { input, effective, applied, statusBefore: totals?.statusBefore ?? null })
}

interface PlannedEntry {
  input: RefundInput
  effective: EffectiveStatus
  applied: AppliedRefund
  /** The status before the commission became `REFUNDED`, if it has. */
  statusBefore: CommissionRow['orderStatus'] | null
}

function toPlan(
  ctx: Context,
  before: CommissionRow,
  { input, effective, applied, statusBefore }: PlannedEntry,
): RefundPlan {
  const { status, batch, sentFileId } = effective
  const { before: was, after: is, refunded, problem } = applied
  const goodsCents = is.refundedCents - was.refundedCents
  const amounts = FINAL_STATUSES.includes(status) ? NO_CHANGE : difference(was, is)
  const isUnpaid = UNPAID_STATUSES.includes(status)
  const isRefunded = status === 'REFUNDED'
  const restored = isRefunded && !is.fullyRefunded && { orderStatus: statusBefore ?? 'PENDING' }
  const columns = { ...(isUnpaid && { ...unpaidChanges(is), ...restored }), updatedAt: nowIso(ctx) }
  return {
    row: { ...before, ...columns, version: before.version + 1 },
    refund: toRefundRow(ctx, before, input, { goodsCents, ...amounts, adjustmentId: null }),
    refundedCents: is.refundedCents,
    alreadyRecorded: false,
    problem,
    changes: {
      columns,
      refunded,
      // It leaves its batch.
      statusBefore: isRefunded ? statusBefore : before.orderStatus === 'PAYABLE' ? 'APPROVED' : before.orderStatus,
      isClawback: status === 'PAID' && amounts.amountCents !== 0,
      batch,
      sentFileId,
    },
  }
}

/** What canceling a refund changed. */
export interface CanceledRefund {
  row: CommissionRow
  /** Null if the refund was not reported yet. When it is, it changes nothing. */
  refund: RefundRow | null
  refundedCents: number
  /** Whether it was canceled before. Nothing was changed then. */
  alreadyRecorded: boolean
}

/**
 * Cancels a refund in the caller's transaction: an unpaid commission becomes what it would be without the refund, a
 * paid one gets a positive adjustment. A refund that was not reported yet is marked, so that it changes nothing later.
 */
export async function cancelRefund(
  ctx: Context,
  trx: Transaction,
  before: CommissionRow,
  { refundId, snapshot }: { refundId: string; snapshot: RefundSnapshot },
): Promise<Mutation<CanceledRefund>> {
  const input = { refundId: cancellationIdOf(refundId), amountCents: null, lineItems: [], reason: null }
  const [refund, canceled, totals, status] = await Promise.all([
    findRefund(trx, ctx.shop.id, before.id, [refundId]),
    findRefund(trx, ctx.shop.id, before.id, [input.refundId]),
    findRefundTotals(trx, ctx.shop.id, before.id),
    findEffectiveStatus(ctx, trx, before),
  ])
  const unchanged = { row: before, refundedCents: totals?.goodsCents ?? 0 }
  if (canceled)
    return { result: { ...unchanged, refund: refund ? canceled : null, alreadyRecorded: true }, audit: null }
  if (!refund) {
    const marker = toRefundRow(ctx, before, input, { goodsCents: 0, ...NO_CHANGE, adjustmentId: null })
    await insertRow(trx, 'refunds', marker)
    return { result: { ...unchanged, refund: null, alreadyRecorded: false }, audit: null }
  }
  const others = (await recomputeRefundedGoods(trx, ctx.shop.id, before.id, { snapshot, withoutId: refundId }))!
  const applied = {
    before: refundTarget(snapshot, await findRefundedGoods(trx, ctx.shop.id, before.id, snapshot)),
    after: refundTarget(snapshot, others),
    refunded: others,
    problem: null,
  }
  const wasCanceled = await isOrderCanceled(trx, ctx.shop.id, before.orderId)
  const plan = toPlan(ctx, before, {
    // For an unpaid commission, the statement shows both at the refund's time; for a paid one, when the adjustment is
    // made.
    input: { ...input, occurredAt: status.status === 'PAID' ? null : refund.occurredAt },
    effective: status,
    applied,
    statusBefore: wasCanceled ? 'CANCELED' : (totals?.statusBefore ?? null),
  })
  return writeRefund(ctx, trx, before, plan)
}

/** Whether a refund is in its order's currency. */
export const isInOrderCurrency = ({ currency }: RefundInput, { orderCurrency }: CommissionRow): boolean =>
  !currency || currency === orderCurrency

const currencyMismatch = (currency: string) =>
  conflict('refund_currency_mismatch', `The order is in ${currency}. Send the amount of the refund in ${currency}.`)

/** The reduced commission. If nothing is left, it becomes `REFUNDED` and leaves its batch. */
const unpaidChanges = ({
  remainingBaseCents,
  amountCents,
  taxWithheldCents,
  fullyRefunded,
}: RefundTarget): Partial<CommissionRow> => ({
  remainingBaseCents,
  commissionAmountCents: amountCents,
  taxWithheldCents,
  ...(fullyRefunded && { orderStatus: 'REFUNDED', payoutBatchId: null }),
})

const difference = (before: RefundTarget, after: RefundTarget) => ({
  amountCents: after.amountCents - before.amountCents,
  taxCents: after.taxWithheldCents - before.taxWithheldCents,
})

/** @throws ApiError 400 `refund_item_unknown` or 409 `refund_exceeds_order`, unless the store has already refunded. */
async function applyToOrder(
  ctx: Context,
  db: Reader,
  { id, orderId, orderCurrency }: CommissionRow,
  { input, snapshot: provided }: { input: RefundInput; snapshot: RefundSnapshot | undefined },
): Promise<AppliedRefund> {
  const snapshot = provided ?? readRefundSnapshot(await findRecordedOrder(ctx, db, orderId))
  const applied = applyRefund(snapshot, await findRefundedGoods(db, ctx.shop.id, id, snapshot), input)
  if (applied.problem && !input.alreadyHappened) {
    if (applied.problem === 'UNKNOWN_ITEM') {
      throw invalid(
        'refund_item_unknown',
        'The order has no such line item. Use an id, variantId or productId of the order.',
      )
    }
    throw refundExceedsOrder(applied.before.leftCents, orderCurrency)
  }
  return applied
}

type RefundChange = Pick<RefundRow, 'goodsCents' | 'adjustmentId'> & { amountCents: number; taxCents: number }

const toRefundRow = (ctx: Context, { id }: CommissionRow, input: RefundInput, change: RefundChange): RefundRow => ({
  id: ctx.newId('rfd'),
  shopId: ctx.shop.id,
  commissionId: id,
  externalRefundId: input.refundId,
  amountCents: input.amountCents,
  lineItems: JSON.stringify(input.lineItems),
  reason: input.reason,
  goodsCents: change.goodsCents,
  commissionCents: change.amountCents,
  taxCents: change.taxCents,
  adjustmentId: change.adjustmentId,
  occurredAt: input.occurredAt ?? nowIso(ctx),
  createdAt: nowIso(ctx),
})

/** Normalizes the caller's refund ID. @throws ApiError 400 with the code when it is blank or reserved. */
export function readRefundId(text: string, code: 'invalid_body' | 'invalid_parameter' = 'invalid_body'): string {
  const refundId = orderKey(text)
  if (!refundId || RESERVED_IDS.includes(refundId) || canceledRefundOf(refundId) !== undefined)
    throw invalidField(
      code,
      'externalRefundId',
      `must be your refund id. Reserved: ${RESERVED_IDS.join(', ')}, and ids that end with ${cancellationIdOf('')}.`,
    )
  return refundId
}

function toRefundInput(body: Body<'refundCommission'>): RefundInput {
  const refundId = readRefundId(body.externalRefundId)
  const lineItems = (body.lineItems ?? []).map(toRefundLine)
  return { refundId, amountCents: body.amountCents ?? null, lineItems, reason: body.reason ?? null }
}

export const toRefundLine = ({
  id,
  variantId = null,
  productId = null,
  quantity,
  amountCents,
}: components['schemas']['RefundLine']): RefundLine => ({
  ...(id && { id }),
  variantId,
  productId,
  quantity,
  ...(typeof amountCents === 'number' && { amountCents }),
})

const refundExceedsOrder = (leftCents: number, currency: string) =>
  conflictWithRemedy('refund_exceeds_order', {
    problem: `Only ${money(leftCents, currency)} of goods are left to refund.`,
    remedy: 'Send a smaller amount.',
    field: 'amountCents',
  })

const notRefundable = (status: CommissionRow['orderStatus']) =>
  conflict('commission_move_not_allowed', `This commission is ${status} and cannot be refunded.`)
