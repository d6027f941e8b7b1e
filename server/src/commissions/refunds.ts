import { concurrentChange, conflict, invalid, invalidBody } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import type { Body } from '../contract/spec.ts'
import { type Context, nowIso } from '../core/context.ts'
import { type Mutation, mutate } from '../core/mutate.ts'
import type { Transaction } from '../database/database.ts'
import type { CommissionRow, OrderRow, RefundRow } from '../database/tables.ts'
import type { Decision, Facts } from '../engine/facts.ts'
import { orderKey } from '../engine/normalize.ts'
import type { Refund, RefundedGoods, RefundLine } from '../engine/refund.ts'
import {
  type AppliedRefund,
  applyRefund,
  type RefundSnapshot,
  type RefundTarget,
  totalRefunds,
} from '../engine/refund.ts'
import { recomputeBatch } from '../payouts/batch.ts'
import { adjustmentRejected, commissionNotFound, findEffectiveStatus, findRecordedOrder } from './commissions.ts'
import {
  adjustmentRow,
  findCommission,
  findRefund,
  findRefundTotals,
  insertCommission,
  insertRefund,
  listRefunds,
  toCommission,
  updateCommissionIfUnchanged,
  upsertRefundTotals,
} from './queries.ts'

/** A refund to record; `amountCents` is goods net of discount. */
export interface RefundInput extends Refund {
  lineItems: RefundLine[]
  reason: string | null
  /** A store has already refunded: excess amounts are cut off instead of rejected. */
  alreadyHappened?: boolean
}

export interface RecordedRefund {
  row: CommissionRow
  refund: RefundRow
}

/** Statuses whose amounts no longer change; a refund is stored without changing them. */
const FINAL_STATUSES: CommissionRow['orderStatus'][] = ['REJECTED', 'CANCELED', 'REVERSED']
const UNPAID_STATUSES: CommissionRow['orderStatus'][] = ['PENDING', 'APPROVED', 'ACCEPTED', 'PAYABLE', 'REFUNDED']
const NO_CHANGE = { amountCents: 0, taxCents: 0 }
/** Reserved for the order ids of other adjustments. */
const RESERVED_IDS = ['reversal', 'carry']

/**
 * Records a refund, and takes back what the commission earned on the returned goods, computed from the recorded order. The
 * same refund id again changes nothing.
 *
 * @throws ApiError 400 `invalid_body` or `refund_item_unknown`, 404 `commission_not_found`, 409 `refund_exceeds_order`,
 *   `commission_move_not_allowed`, `commission_is_adjustment` or `concurrent_change`.
 */
export async function refund(ctx: Context, id: string, body: Body<'refundCommission'>) {
  const input = toRefundInput(body)
  const before = await findCommission(ctx.db.read, ctx.shop.id, id)
  if (!before) throw commissionNotFound()
  return mutate(ctx, async (trx) => {
    const { result, ...written } = await recordRefund(ctx, trx, before, input)
    return { ...written, result: { data: toCommission(result.row), refund: toRefund(result.refund) } }
  })
}

/**
 * Records one refund of a commission in the caller's transaction: an unpaid commission is reduced, a paid one gets a
 * negative adjustment.
 *
 * @param snapshot the recorded order, when the caller has read it already
 */
export async function recordRefund(
  ctx: Context,
  trx: Transaction,
  before: CommissionRow,
  input: RefundInput,
  snapshot?: RefundSnapshot,
): Promise<Mutation<RecordedRefund>> {
  if (before.trackingMethod === 'ADJUSTMENT') throw adjustmentRejected()
  const existing = await findRefund(trx, ctx.shop.id, before.id, input.refundId)
  if (existing) {
    const row = await findCommission(trx, ctx.shop.id, before.id)
    return { result: { row: row ?? before, refund: existing }, audit: null }
  }
  const { status, batch } = await findEffectiveStatus(ctx, trx, before)
  if (FINAL_STATUSES.includes(status) && !input.alreadyHappened) throw notRefundable(status)
  if (status === 'REFUNDED' && !input.alreadyHappened) throw refundExceedsOrder(0)
  const { before: was, after: is, refunded } = await applyToOrder(ctx, trx, before, { input, snapshot })
  const goodsCents = is.refundedCents - was.refundedCents
  const amounts = FINAL_STATUSES.includes(status) ? NO_CHANGE : difference(was, is)
  const isUnpaid = UNPAID_STATUSES.includes(status)
  const changes = { ...(isUnpaid && unpaidChanges(is)), updatedAt: nowIso(ctx) }
  if (!(await updateCommissionIfUnchanged(trx, ctx.shop.id, before, changes))) throw concurrentChange()
  const row = { ...before, ...changes, version: before.version + 1 }
  const isClawback = status === 'PAID' && amounts.amountCents !== 0
  const adjustment = isClawback ? clawbackRow(ctx, before, { name: input.refundId, ...amounts }) : undefined
  if (adjustment) await insertCommission(trx, ctx.shop.id, adjustment)
  const refund = toRefundRow(ctx, before, input, { goodsCents, ...amounts, adjustmentId: adjustment?.id ?? null })
  await insertRefund(trx, ctx.shop.id, refund)
  await storeRefundedGoods(trx, ctx.shop.id, before.id, refunded)
  if (batch) await recomputeBatch(ctx, trx, batch.id)
  const { externalRefundId, commissionCents, adjustmentId } = refund
  const data = { externalRefundId, goodsCents, commissionCents, adjustmentId, status: row.orderStatus }
  return { result: { row, refund }, audit: { action: 'commission.refunded', subjectId: before.id, data } }
}

/** The reduced commission. With nothing left it becomes `REFUNDED` and leaves its batch. */
const unpaidChanges = ({ amountCents, taxWithheldCents, fullyRefunded }: RefundTarget): Partial<CommissionRow> => ({
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
  trx: Transaction,
  { id, orderId }: CommissionRow,
  { input, snapshot: provided }: { input: RefundInput; snapshot: RefundSnapshot | undefined },
): Promise<AppliedRefund> {
  const snapshot = provided ?? readRefundSnapshot(await findRecordedOrder(ctx, trx, orderId))
  const applied = applyRefund(snapshot, await findRefundedGoods(trx, ctx.shop.id, id, snapshot), input)
  if (applied.problem && !input.alreadyHappened) {
    if (applied.problem === 'UNKNOWN_ITEM') {
      throw invalid(
        'refund_item_unknown',
        'The order has no such line item. Use a variantId or productId of the order.',
      )
    }
    throw refundExceedsOrder(applied.before.leftCents)
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
  createdAt: nowIso(ctx),
})

function toRefundInput(body: Body<'refundCommission'>): RefundInput {
  const refundId = orderKey(body.externalRefundId)
  if (!refundId || RESERVED_IDS.includes(refundId))
    throw invalidBody(`externalRefundId must be your refund id. Reserved ids: ${RESERVED_IDS.join(', ')}.`)
  const lineItems = (body.lineItems ?? []).map(({ variantId = null, productId = null, quantity }) => ({
    variantId,
    productId,
    quantity,
  }))
  return { refundId, amountCents: body.amountCents ?? null, lineItems, reason: body.reason ?? null }
}

/** A refund as in openapi.yaml. */
export const toRefund = (row: RefundRow): components['schemas']['Refund'] => ({
  id: row.id,
  externalRefundId: row.externalRefundId,
  amountCents: row.amountCents,
  lineItems: JSON.parse(row.lineItems),
  reason: row.reason,
  goodsCents: row.goodsCents,
  commissionCents: row.commissionCents,
  taxCents: row.taxCents,
  adjustmentId: row.adjustmentId,
  createdAt: row.createdAt,
})

const refundExceedsOrder = (leftCents: number) =>
  conflict('refund_exceeds_order', `Only ${leftCents} cents of goods are left to refund. Send a smaller amount.`)

const notRefundable = (status: CommissionRow['orderStatus']) =>
  conflict('commission_move_not_allowed', `This commission is ${status} and cannot be refunded.`)

/**
 * The goods of a commission's order that were refunded so far; undefined before the first refund. Reads stored totals, so
 * the cost does not depend on the number of refunds.
 */
export async function findRefundedGoods(
  trx: Transaction,
  shopId: string,
  commissionId: string,
  snapshot: RefundSnapshot,
): Promise<RefundedGoods | undefined> {
  const row = await findRefundTotals(trx, shopId, commissionId)
  // There are no totals before the first refund.
  if (!row) return recomputeRefundedGoods(trx, shopId, commissionId, snapshot)
  return {
    cents: row.goodsCents,
    pieces: JSON.parse(row.pieces),
    pointed: JSON.parse(row.pointed),
    everything: row.everything === 1,
  }
}

/** Like {@link findRefundedGoods}, but computed from every refund: a new decision may split the order differently. */
export async function recomputeRefundedGoods(
  trx: Transaction,
  shopId: string,
  commissionId: string,
  snapshot: RefundSnapshot,
): Promise<RefundedGoods | undefined> {
  const rows = await listRefunds(trx, shopId, commissionId)
  return rows.length > 0 ? totalRefunds(snapshot, rows.map(toEngineRefund)) : undefined
}

/** Stores the running totals for the next refund. */
export const storeRefundedGoods = (
  trx: Transaction,
  shopId: string,
  commissionId: string,
  refunded: RefundedGoods,
): Promise<void> =>
  upsertRefundTotals(trx, shopId, {
    commissionId,
    goodsCents: refunded.cents,
    pieces: JSON.stringify(refunded.pieces),
    pointed: JSON.stringify(refunded.pointed),
    everything: refunded.everything ? 1 : 0,
  })

/** A stored refund as the engine reads it. */
const toEngineRefund = ({ externalRefundId, amountCents, lineItems }: RefundRow): Refund => ({
  refundId: externalRefundId,
  amountCents,
  lineItems: JSON.parse(lineItems),
})

/** The recorded order in the form that refunds are computed from. */
export const readRefundSnapshot = ({ facts, decision }: Pick<OrderRow, 'facts' | 'decision'>): RefundSnapshot =>
  toRefundSnapshot(JSON.parse(facts), JSON.parse(decision))

export const toRefundSnapshot = ({ order, settings }: Facts, decision: Decision): RefundSnapshot => ({
  subtotalCents: decision.subtotalCents,
  discountCents: order.discountCents,
  lines: order.lines,
  baseCents: decision.baseCents,
  groups: decision.groups,
  taxWithholdingBps: settings.taxWithholdingBps,
})

/** An adjustment that takes money back from a paid commission; the next batch deducts it. */
export const clawbackRow = (
  ctx: Context,
  { id, affiliateId, programId, currency, orderCurrency }: CommissionRow,
  { name, amountCents, taxCents }: { name: string; amountCents: number; taxCents: number },
): Omit<CommissionRow, 'shopId'> =>
  adjustmentRow(ctx, {
    id: ctx.newId('com'),
    orderId: `adj:${id}:${name}`,
    affiliateId,
    programId,
    currency,
    orderCurrency,
    commissionAmountCents: amountCents,
    taxWithheldCents: taxCents,
    orderStatus: 'APPROVED',
    payoutBatchId: null,
    debtId: null,
    happenedAt: nowIso(ctx),
  })
