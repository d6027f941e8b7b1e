import { conflict } from '../../contract/errors.ts'
import { type Context, nowIso } from '../../core/context.ts'
import type { AuditEntry, Mutation } from '../../core/mutate.ts'
import type { WebhookEvent } from '../../core/outbox.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { forEachInSlices } from '../../database/event-loop.ts'
import type { CommissionRow, OrderNoticeRow, RefundRow } from '../../database/tables.ts'
import type { RefundSnapshot } from '../../engine/refund.ts'
import { findEffectiveStatus } from '../commissions/commissions.ts'
import {
  type Clawback,
  moveCommission,
  planClawback,
  recomputeLeftBatches,
  TRANSITIONS,
} from '../commissions/moderation.ts'
import { readRefundSnapshot } from '../commissions/refunded-goods.ts'
import {
  cancelRefund,
  isInOrderCurrency,
  planRefund,
  type RecordedRefund,
  type RefundInput,
  recordRefund,
} from '../commissions/refunds.ts'
import { findCommissionByOrder } from '../ledger/commissions.ts'
import { insertOrderNoticeIfNew, isOrderCanceled, listStoredRefunds } from '../ledger/order-notices.ts'
import { findOrder } from '../ledger/orders.ts'

/** What a source needs to know of an order to read its refund: goods after discount, and with shipping and tax. */
export interface RefundedOrder {
  currency: string
  isTaxIncluded: boolean
  goodsCents: number
  paidCents: number
}

/** Converts the body of a notice to a refund. Sources differ in their format, and their ids in their prefix. */
export type ParseRefund = (body: string, order: RefundedOrder) => Omit<RefundInput, 'refundId'>

function toRefundedOrder(row: CommissionRow, snapshot: RefundSnapshot | undefined): RefundedOrder {
  const goodsCents = Math.max(0, row.orderSubtotalCents - row.orderDiscountCents)
  return {
    currency: row.orderCurrency,
    isTaxIncluded: snapshot?.lines.some(({ includedTaxCents }) => includedTaxCents !== undefined) ?? false,
    goodsCents,
    paidCents: goodsCents + row.orderShippingCents + row.orderTaxCents,
  }
}

/**
 * A refund or cancellation for an order without a commission: `noted` if the order was reported, otherwise `stored`.
 */
interface KeptNotice {
  outcome: 'noted' | 'stored'
  /** False when it was kept already. */
  changed: boolean
  /** A rejected commission, which the notice counts for when it is reopened. */
  row: CommissionRow | undefined
}

export type ReportedRefund = KeptNotice | ({ outcome: 'applied'; changed: boolean } & RecordedRefund)
/** `stored` until the refund is reported. */
export type ReportedRefundCancellation =
  | (KeptNotice & { refundedCents?: number })
  | { outcome: 'applied'; changed: boolean; row: CommissionRow; refund: RefundRow; refundedCents: number }
export type ReportedCancellation =
  | KeptNotice
  | { outcome: 'applied'; changed: boolean; row: CommissionRow; clawback: Clawback }

type RefundNotice = Pick<OrderNoticeRow, 'orderId' | 'noticeId' | 'body'>

/** What a cancellation may name. */
export interface CancellationDetails {
  reason?: string | null
  occurredAt?: string | null
}

interface NoticesOfOrder {
  orderId: string
  notices: Omit<OrderNoticeRow, 'shopId'>[]
  parseRefund: ParseRefund
}

/** Applies the cancellations and refunds that arrived before an order was credited. */
export async function applyNotices(
  ctx: Context,
  trx: Transaction,
  { orderId, notices, parseRefund }: NoticesOfOrder,
): Promise<{ audits: AuditEntry[]; events: WebhookEvent[] }> {
  const audits: Mutation<unknown>['audit'][] = []
  const events: WebhookEvent[] = []
  const add = (written: Pick<Mutation<unknown>, 'audit' | 'events'> | undefined) => {
    audits.push(written?.audit ?? null)
    events.push(...(written?.events ?? []))
  }
  const { snapshot } = (await findCreditedOrder(ctx, trx, orderId)) ?? {}
  await forEachInSlices(trx, notices, async ({ kind, noticeId, body, createdAt }) => {
    if (kind === 'evidence') return
    const row = await findCommissionByOrder(trx, ctx.shop.id, orderId)
    if (!row) return
    if (kind === 'canceled') {
      add(await cancelCommission(ctx, trx, row))
      return
    }
    if (kind === 'canceledRefund') {
      if (snapshot) add(await cancelRefund(ctx, trx, row, { refundId: noticeId, snapshot }))
      return
    }
    const parsed = parseRefund(body, toRefundedOrder(row, snapshot))
    const input = { ...parsed, refundId: noticeId, occurredAt: parsed.occurredAt ?? createdAt }
    const skipped = { action: 'refund.skipped', subjectId: row.id, data: { externalRefundId: noticeId } }
    if (isInOrderCurrency(input, row)) add(await recordRefund(ctx, trx, row, input, snapshot))
    else audits.push({ ...skipped, data: { ...skipped.data, reason: 'currency_mismatch' } })
  })
  return { audits: audits.flatMap((audit) => audit ?? []), events }
}

interface CreditedOrder {
  /** Undefined when no affiliate was credited. */
  row: CommissionRow | undefined
  snapshot: RefundSnapshot | undefined
}

/** A reported order with its commission; undefined when it was not reported. */
async function findCreditedOrder(ctx: Context, db: Reader, orderId: string): Promise<CreditedOrder | undefined> {
  const order = await findOrder(db, ctx.shop.id, orderId)
  if (!order) return undefined
  if (!order.commissionId) return { row: undefined, snapshot: undefined }
  return {
    row: await findCommissionByOrder(db, ctx.shop.id, orderId),
    snapshot: readRefundSnapshot(order),
  }
}

/**
 * Records a refund that has already happened, or keeps it until its order is credited. An amount that exceeds the order is
 * cut off; the same refund id again changes nothing.
 *
 * @throws ApiError 409 `refund_currency_mismatch` or `store_refund_limit_reached`.
 */
export async function reportRefund(
  ctx: Context,
  trx: Transaction,
  notice: RefundNotice,
  parseRefund: ParseRefund,
): Promise<Mutation<ReportedRefund>> {
  const order = await findCreditedOrder(ctx, trx, notice.orderId)
  if (!order?.row) {
    const stored = await listStoredRefunds(trx, ctx.shop.id, notice.orderId)
    const changed = await storeNotice(ctx, trx, { ...notice, kind: 'refund' }, stored)
    return { result: { outcome: order ? 'noted' : 'stored', changed, row: undefined }, audit: null }
  }
  const input = { ...parseRefund(notice.body, toRefundedOrder(order.row, order.snapshot)), refundId: notice.noticeId }
  const { result, ...written } = await recordRefund(ctx, trx, order.row, input, order.snapshot)
  return { ...written, result: { outcome: 'applied', changed: !result.alreadyRecorded, ...result } }
}

/**
 * Records that a refund did not last, or keeps it until the refund arrives, which then changes nothing.
 *
 * @throws ApiError 409 `store_refund_limit_reached`.
 */
export async function reportRefundCancellation(
  ctx: Context,
  trx: Transaction,
  { orderId, noticeId }: Pick<OrderNoticeRow, 'orderId' | 'noticeId'>,
): Promise<Mutation<ReportedRefundCancellation>> {
  const order = await findCreditedOrder(ctx, trx, orderId)
  if (!order?.row || !order.snapshot) {
    const stored = await listStoredRefunds(trx, ctx.shop.id, orderId)
    const isKnown = stored.some((notice) => notice.kind === 'refund' && notice.noticeId === noticeId)
    const notice = { orderId, kind: 'canceledRefund' as const, noticeId, body: '{}' }
    const changed = await storeNotice(ctx, trx, notice, stored)
    return { result: { outcome: order && isKnown ? 'noted' : 'stored', changed, row: undefined }, audit: null }
  }
  const { result, ...written } = await cancelRefund(ctx, trx, order.row, {
    refundId: noticeId,
    snapshot: order.snapshot,
  })
  const { refund, row, refundedCents } = result
  const changed = !result.alreadyRecorded
  if (!refund) return { ...written, result: { outcome: 'stored', changed, row, refundedCents } }
  return { ...written, result: { outcome: 'applied', changed, row, refund, refundedCents } }
}

/** Like {@link reportRefund}, without writing. */
export async function previewRefund(
  ctx: Context,
  { orderId, noticeId, body }: RefundNotice,
  parseRefund: ParseRefund,
): Promise<ReportedRefund> {
  const db = ctx.db.read
  const order = await findCreditedOrder(ctx, db, orderId)
  if (!order?.row) {
    const isKept = isStored({ kind: 'refund', noticeId }, await listStoredRefunds(db, ctx.shop.id, orderId))
    return { outcome: order ? 'noted' : 'stored', changed: !isKept, row: undefined }
  }
  const { row, snapshot } = order
  const input = { ...parseRefund(body, toRefundedOrder(row, snapshot)), refundId: noticeId }
  const plan = await planRefund(ctx, db, row, { input, snapshot })
  return { outcome: 'applied', changed: !plan.alreadyRecorded, ...plan }
}

/**
 * Records that an order was canceled: an unpaid commission is canceled, a paid one reversed. The cancellation is kept: an
 * order that is credited or reopened afterwards must not be paid, nor one whose refund is canceled.
 *
 * @throws ApiError 409 `payout_processing` while the commissions of its batch move.
 */
export async function reportCancellation(
  ctx: Context,
  trx: Transaction,
  orderId: string,
  details?: CancellationDetails,
): Promise<Mutation<ReportedCancellation>> {
  const order = await findCreditedOrder(ctx, trx, orderId)
  const row = order?.row
  const changed = !(await isOrderCanceled(trx, ctx.shop.id, orderId))
  if (changed) await insertOrderNoticeIfNew(trx, ctx.shop.id, cancellationNotice(ctx, orderId, details))
  if (row) {
    const moved = await cancelCommission(ctx, trx, row)
    if (moved) {
      const { audit, events, ...result } = moved
      return { result: { outcome: 'applied', changed: true, ...result }, audit, events }
    }
    if (FINAL_STATUSES.includes(row.orderStatus)) return { result: unchanged(row), audit: null }
  }
  return { result: { outcome: order ? 'noted' : 'stored', changed, row }, audit: null }
}

/** Like {@link reportCancellation}, without writing. */
export async function previewCancellation(ctx: Context, orderId: string): Promise<ReportedCancellation> {
  const db = ctx.db.read
  const order = await findCreditedOrder(ctx, db, orderId)
  const row = order?.row
  const plan = row && (await planCancellation(ctx, db, row))
  if (plan) return { outcome: 'applied', changed: true, row: { ...row, orderStatus: plan.to }, clawback: plan.clawback }
  if (row && FINAL_STATUSES.includes(row.orderStatus)) return unchanged(row)
  const changed = !(await isOrderCanceled(db, ctx.shop.id, orderId))
  return { outcome: order ? 'noted' : 'stored', changed, row }
}

/** Statuses that a cancellation cannot change. */
const FINAL_STATUSES: CommissionRow['orderStatus'][] = ['CANCELED', 'REVERSED', 'REFUNDED']

const unchanged = (row: CommissionRow) => ({
  outcome: 'applied' as const,
  changed: false,
  row,
  clawback: { amountCents: 0, taxCents: 0, adjustmentId: null },
})

interface CancellationPlan {
  action: 'cancel' | 'reverse'
  to: CommissionRow['orderStatus']
  clawback: Clawback
}

/** What a cancellation changes. Undefined when the status of the commission cannot be canceled. */
async function planCancellation(ctx: Context, db: Reader, row: CommissionRow): Promise<CancellationPlan | undefined> {
  const { status } = await findEffectiveStatus(ctx, db, row)
  const action = status === 'PAID' ? 'reverse' : 'cancel'
  const { from, to } = TRANSITIONS[action]
  if (!from.includes(status)) return undefined
  const unpaid = { amountCents: 0 - row.commissionAmountCents, taxCents: 0 - row.taxWithheldCents, adjustmentId: null }
  return { action, to, clawback: action === 'reverse' ? await planClawback(ctx, db, row) : unpaid }
}

/** Cancels or reverses a commission. Undefined when its status cannot be canceled. */
async function cancelCommission(ctx: Context, trx: Transaction, before: CommissionRow) {
  const plan = await planCancellation(ctx, trx, before)
  if (!plan) return undefined
  const moved = await moveCommission(ctx, trx, plan.action, before)
  const batchEvents = await recomputeLeftBatches(ctx, trx, [moved])
  const events = [...moved.events, ...batchEvents]
  return { row: moved.row, audit: moved.audit, events, clawback: moved.clawback ?? plan.clawback }
}

export const cancellationNotice = (ctx: Context, orderId: string, details: CancellationDetails = {}) => ({
  orderId,
  kind: 'canceled' as const,
  noticeId: '',
  body: JSON.stringify(details),
  createdAt: nowIso(ctx),
})

const MAX_STORED_REFUNDS = 50
/** The total length of their stored bodies: about 5,000 line items. */
const MAX_STORED_LENGTH = 500_000

/**
 * Stores a refund, or that it was canceled, until its order is credited. All are applied in that one transaction, so their
 * number is limited. Returns whether it is new.
 */
async function storeNotice(
  ctx: Context,
  trx: Transaction,
  notice: RefundNotice & { kind: 'refund' | 'canceledRefund' },
  stored: StoredRefunds,
): Promise<boolean> {
  if (isStored(notice, stored)) return false
  await insertOrderNoticeIfNew(trx, ctx.shop.id, { ...notice, createdAt: nowIso(ctx) })
  return true
}

type StoredRefunds = Awaited<ReturnType<typeof listStoredRefunds>>

/** Whether a notice is stored already. @throws ApiError 409 when it is not and no more can be stored. */
function isStored({ kind, noticeId }: Pick<OrderNoticeRow, 'kind' | 'noticeId'>, stored: StoredRefunds): boolean {
  if (stored.some((notice) => notice.kind === kind && notice.noticeId === noticeId)) return true
  const length = stored.reduce((sum, notice) => sum + notice.length, 0)
  if (stored.length < MAX_STORED_REFUNDS && length <= MAX_STORED_LENGTH) return false
  throw conflict(
    'store_refund_limit_reached',
    'Too many refunds are pending for this order. Resend this refund once the order has been credited.',
  )
}
