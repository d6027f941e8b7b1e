import { invalidBody, invalidField } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Context } from '../../core/context.ts'
import { mutate } from '../../core/mutate.ts'
import { readOccurredAt } from '../../core/time.ts'
import type { Reader } from '../../database/database.ts'
import type { CommissionRow, OrderNoticeRow } from '../../database/tables.ts'
import { orderKey, storedOrderId } from '../../engine/normalize.ts'
import type { RecordedRefund, RefundInput } from '../commissions/refunds.ts'
import { REFUND_WARNINGS, readRefundId, toRefundLine } from '../commissions/refunds.ts'
import { listOrderNotices } from '../ledger/order-notices.ts'
import {
  type ParseRefund,
  previewCancellation,
  previewRefund,
  type ReportedCancellation,
  type ReportedRefund,
  type ReportedRefundCancellation,
  reportCancellation,
  reportRefund,
  reportRefundCancellation,
} from './notices.ts'

type Schemas = components['schemas']
type RefundReply = Schemas['RefundReportReply']
type CancellationReply = Schemas['CancellationReportReply']
type RefundCancellationReply = Schemas['RefundCancellationReply']
type Refund = Schemas['RefundReport']
type Cancellation = Schemas['CancellationReport']

/** 202 until the order is reported, 200 afterwards and for dry runs. */
interface Reported<Reply> {
  status: 200 | 202
  body: Reply
}

/**
 * Records a refund of an order that was or will be reported as a conversion. The same refund ID again changes nothing.
 *
 * @throws ApiError 400 `invalid_body` or `occurred_at_in_future`, 409 `refund_currency_mismatch` or
 * `store_refund_limit_reached`.
 */
export async function recordRefundReport(
  ctx: Context,
  report: Refund,
  dryRun: boolean,
): Promise<Reported<RefundReply>> {
  const order = readOrderId(report.externalOrderId)
  const refundId = readRefundId(report.externalRefundId)
  // Units that exceed the order are cut off. An amount would then have no line items to belong to.
  if (report.lineItems?.length && typeof report.amountCents === 'number')
    throw invalidBody('Send either amountCents or lineItems, not both.')
  const notice = { orderId: order.orderId, noticeId: refundId, body: JSON.stringify(toStoredRefund(ctx, report)) }
  const ids = { ...order, externalRefundId: refundId }
  if (dryRun) {
    const result = await previewRefund(ctx, notice, parseStoredRefund)
    const totals = await findTotals(ctx, ctx.db.read, notice, result)
    return { status: 200, body: toRefundReply(ids, result, { ...totals, dryRun }) }
  }
  return mutate(ctx, async (trx) => {
    const { result, ...written } = await reportRefund(ctx, trx, notice, parseStoredRefund)
    const totals = await findTotals(ctx, trx, notice, result)
    const body = toRefundReply(ids, result, { ...totals, dryRun })
    return { ...written, result: { status: statusOf(result), body } }
  })
}

/**
 * Records that an order that was or will be reported as a conversion was canceled. Repeating it changes nothing.
 *
 * @throws ApiError 400 `invalid_body` or `occurred_at_in_future`, 409 `payout_processing` while the commissions of its batch move.
 */
export async function recordCancellationReport(
  ctx: Context,
  report: Cancellation,
  dryRun: boolean,
): Promise<Reported<CancellationReply>> {
  const order = readOrderId(report.externalOrderId)
  const { orderId } = order
  const details = { reason: report.reason ?? null, occurredAt: readOccurredAt(ctx, report.occurredAt) }
  if (dryRun) return { status: 200, body: toCancellationReply(order, await previewCancellation(ctx, orderId), true) }
  return mutate(ctx, async (trx) => {
    const { result, ...written } = await reportCancellation(ctx, trx, orderId, details)
    return { ...written, result: { status: statusOf(result), body: toCancellationReply(order, result, false) } }
  })
}

/**
 * Records a refund's cancellation: the commission becomes what it would be without the refund. If the refund was not
 * reported yet, the cancellation is stored, and the refund changes nothing when it arrives.
 *
 * @throws ApiError 400 `invalid_parameter`, 409 `store_refund_limit_reached`.
 */
export async function cancelRefundReport(
  ctx: Context,
  ids: { externalOrderId: string; externalRefundId: string },
): Promise<Reported<RefundCancellationReply>> {
  const order = readOrderId(ids.externalOrderId, 'invalid_parameter')
  const notice = { orderId: order.orderId, noticeId: readRefundId(ids.externalRefundId, 'invalid_parameter') }
  return mutate(ctx, async (trx) => {
    const { result, ...written } = await reportRefundCancellation(ctx, trx, notice)
    const refundedCents =
      result.refundedCents ?? sumRefunds(await listOrderNotices(trx, ctx.shop.id, notice.orderId), notice)
    const body = toRefundCancellationReply({ ...order, externalRefundId: notice.noticeId }, result, refundedCents)
    return { ...written, result: { status: statusOf(result), body } }
  })
}

interface OrderIds {
  externalOrderId: string
  orderId: string
}

function readOrderId(text: string, code: 'invalid_body' | 'invalid_parameter' = 'invalid_body'): OrderIds {
  const externalOrderId = text.trim()
  if (!orderKey(externalOrderId)) throw invalidField(code, 'externalOrderId', 'is required.')
  return { externalOrderId, orderId: storedOrderId('api', externalOrderId) }
}

/** A refund's stored form until its order is credited. */
type StoredRefund = Pick<RefundInput, 'amountCents' | 'lineItems' | 'reason' | 'currency' | 'occurredAt'>

const toStoredRefund = (
  ctx: Context,
  { amountCents, lineItems, reason, currency, occurredAt }: Refund,
): StoredRefund => ({
  amountCents: amountCents ?? null,
  lineItems: (lineItems ?? []).map(toRefundLine),
  reason: reason ?? null,
  currency: currency ?? null,
  occurredAt: readOccurredAt(ctx, occurredAt),
})

/** Like a store's, these refunds have already happened. */
export const parseStoredRefund: ParseRefund = (body) => ({
  ...(JSON.parse(body) as StoredRefund),
  alreadyHappened: true,
})

const statusOf = ({ outcome }: ReportedRefund | ReportedRefundCancellation | ReportedCancellation) =>
  outcome === 'stored' ? 202 : 200

type Totals = Pick<RecordedRefund, 'refundedCents' | 'problem'>

/** The order's refunded goods including this refund: as applied, or the total of the stored amounts. */
async function findTotals(
  { shop }: Context,
  db: Reader,
  { orderId, noticeId, body }: Pick<OrderNoticeRow, 'orderId' | 'noticeId' | 'body'>,
  reported: ReportedRefund,
): Promise<Totals> {
  if (reported.outcome === 'applied') return reported
  const stored = await listOrderNotices(db, shop.id, orderId)
  const same = stored.find((notice) => notice.kind === 'refund' && notice.noticeId === noticeId)
  const problem = same && contentOf(same.body) !== contentOf(body) ? 'DIFFERS' : null
  return { refundedCents: sumRefunds(stored, { noticeId, body }), problem }
}

function contentOf(body: string): string {
  const { amountCents, lineItems }: StoredRefund = JSON.parse(body)
  return JSON.stringify([amountCents, lineItems])
}

/** The total of an order's stored refunds that are not canceled, plus this one if it is not stored. */
function sumRefunds(
  stored: OrderNoticeRow[],
  { noticeId, body }: Pick<OrderNoticeRow, 'noticeId'> & { body?: string },
): number {
  const bodies = new Map(body === undefined ? [] : [[noticeId, body]])
  for (const notice of stored) if (notice.kind === 'refund') bodies.set(notice.noticeId, notice.body)
  for (const notice of stored) if (notice.kind === 'canceledRefund') bodies.delete(notice.noticeId)
  return [...bodies.values()].reduce((total, text) => total + amountOf(text), 0)
}

const amountOf = (body: string): number => (JSON.parse(body) as StoredRefund).amountCents ?? 0

function toRefundReply(
  { externalRefundId, ...order }: OrderIds & { externalRefundId: string },
  reported: ReportedRefund,
  { refundedCents, problem, dryRun }: Totals & { dryRun: boolean },
): RefundReply {
  const { outcome, changed } = reported
  return {
    ok: true,
    message: dryRun ? DRY_RUN : refundMessage(outcome, changed),
    dryRun,
    outcome,
    changed,
    ...order,
    externalRefundId,
    refund: outcome === 'applied' ? toReportedRefund(reported) : null,
    refundedCents,
    commission: reported.row ? toReportedCommission(reported.row) : null,
    warning: problem && REFUND_WARNINGS[problem],
  }
}

const DRY_RUN = 'Dry run. Nothing was recorded.'

function refundMessage(outcome: ReportedRefund['outcome'], changed: boolean): string {
  if (outcome === 'applied') return changed ? 'Refund recorded.' : 'Refund was already recorded.'
  if (!changed) return 'Refund was already stored.'
  return outcome === 'noted'
    ? 'Refund stored until an affiliate is credited for its order.'
    : 'Refund stored until its order is reported.'
}

function toRefundCancellationReply(
  { externalRefundId, ...order }: OrderIds & { externalRefundId: string },
  reported: ReportedRefundCancellation,
  refundedCents: number,
): RefundCancellationReply {
  const { outcome, changed, row } = reported
  const entry = outcome === 'applied' ? reported.refund : undefined
  return {
    ok: true,
    message: refundCancellationMessage(outcome, changed),
    outcome,
    changed,
    ...order,
    externalRefundId,
    refundedCents,
    commission: row ? toReportedCommission(row) : null,
    commissionCents: entry?.commissionCents ?? 0,
    taxCents: entry?.taxCents ?? 0,
    adjustmentId: entry?.adjustmentId ?? null,
  }
}

function refundCancellationMessage(outcome: ReportedRefundCancellation['outcome'], changed: boolean): string {
  if (outcome === 'stored') return 'Cancellation stored. The refund will change nothing.'
  return changed ? 'Refund canceled.' : 'Refund was already canceled.'
}

const toReportedRefund = ({ refund }: Extract<ReportedRefund, { outcome: 'applied' }>): Schemas['ReportedRefund'] => ({
  amountCents: refund.amountCents,
  lineItems: JSON.parse(refund.lineItems),
  reason: refund.reason,
  occurredAt: refund.occurredAt,
  goodsCents: refund.goodsCents,
  commissionCents: refund.commissionCents,
  taxCents: refund.taxCents,
  adjustmentId: refund.adjustmentId,
})

const toReportedCommission = (row: CommissionRow): Schemas['ReportedCommission'] => ({
  id: row.id,
  affiliateId: row.affiliateId,
  status: row.orderStatus,
  amountCents: row.commissionAmountCents,
  taxWithheldCents: row.taxWithheldCents,
  currency: row.currency,
})

function toCancellationReply(order: OrderIds, reported: ReportedCancellation, dryRun: boolean): CancellationReply {
  const { outcome, changed, row } = reported
  const clawback = outcome === 'applied' ? reported.clawback : undefined
  return {
    ok: true,
    message: dryRun ? DRY_RUN : cancellationMessage(reported),
    dryRun,
    outcome,
    changed,
    ...order,
    commission: row ? toReportedCommission(row) : null,
    commissionCents: clawback?.amountCents ?? 0,
    taxCents: clawback?.taxCents ?? 0,
    adjustmentId: clawback?.adjustmentId ?? null,
  }
}

function cancellationMessage({ outcome, changed, row }: ReportedCancellation): string {
  if (outcome === 'applied') {
    if (changed) return 'Order canceled.'
    return row.orderStatus === 'REFUNDED' ? 'Order was already refunded in full.' : 'Order was already canceled.'
  }
  if (!changed) return 'Cancellation was already stored.'
  return outcome === 'noted'
    ? 'Cancellation stored until an affiliate is credited for the order.'
    : 'Cancellation stored until the order is reported.'
}
