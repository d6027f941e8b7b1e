import { requireSourceDomain } from '../accounts/store-connection.ts'
import { findAffiliateByCodeOrSlug } from '../affiliates/queries.ts'
import { findEffectiveStatus, findRecordedOrder } from '../commissions/commissions.ts'
import { moveCommission, TRANSITIONS } from '../commissions/moderation.ts'
import { findCommissionByOrder } from '../commissions/queries.ts'
import { type RefundInput, readRefundSnapshot, recordRefund } from '../commissions/refunds.ts'
import { conflict } from '../contract/errors.ts'
import type { components } from '../contract/schema.d.ts'
import type { Body } from '../contract/spec.ts'
import { type Context, nowIso } from '../core/context.ts'
import { type AuditEntry, type Mutation, mutate } from '../core/mutate.ts'
import type { Transaction } from '../database/database.ts'
import { forEachYielding } from '../database/event-loop.ts'
import type { CommissionRow, ShopRow, StoreNoticeRow } from '../database/tables.ts'
import { storedOrderId } from '../engine/normalize.ts'
import { recordOrder, touchesOf } from '../orders/record-order.ts'
import { recomputeBatch } from '../payouts/batch.ts'
import { insertStoreNoticeIfNew, listStoredRefunds, listStoreNotices } from './queries.ts'
import { minimalRefund, requireId, toStoreOrder, toStoreRefund } from './shopify-payload.ts'

type Reply = components['schemas']['ActionReply']

interface RecordedPaidOrder {
  reply: Reply
  alreadyRecorded: boolean
}

const MAX_STORED_REFUNDS = 50
/** The total length of their stored bodies: about 5,000 line items. */
const MAX_STORED_LENGTH = 500_000
const shopifyOrderId = (externalOrderId: string) => storedOrderId('shopify', externalOrderId)

/** Statuses that a cancellation cannot change. */
const FINAL_STATUSES: CommissionRow['orderStatus'][] = ['CANCELED', 'REVERSED', 'REFUNDED']

/**
 * Records a paid order of a store, once, and then applies the cancellations and refunds that arrived before it.
 *
 * @throws ApiError 400 `invalid_body` or 401 `store_domain_mismatch`.
 */
export async function recordPaidOrder(ctx: Context, body: Body<'recordStoreOrder'>): Promise<RecordedPaidOrder> {
  const { order, orderName, codes } = toStoreOrder(ctx, body)
  const orderId = shopifyOrderId(order.externalOrderId)
  const work = async (trx: Transaction, shop: ShopRow): Promise<Mutation<RecordedPaidOrder>> => {
    requireSourceDomain(shop, body.order_status_url)
    const couponCode = await firstKnownCode(ctx, trx, codes)
    const incoming = { order: { ...order, couponCode }, orderId, orderName, trackingMethod: 'STORE_ORDER' as const }
    const { result, audit, ...written } = await recordOrder({ ...ctx, shop }, trx, incoming)
    const { commissionId, alreadyRecorded } = result
    if (body.cancelled_at && !alreadyRecorded) await storeNotice(ctx, trx, cancellationNotice(orderId))
    const later = commissionId && !alreadyRecorded ? await applyStoredNotices(ctx, trx, orderId) : []
    const message = alreadyRecorded ? 'Order was already recorded.' : 'Order recorded.'
    const reply: Reply = { ok: true, message, ...(commissionId && { id: commissionId }) }
    const audits = [audit ?? [], later].flat()
    return { ...written, result: { reply, alreadyRecorded }, audit: audits.length ? audits : null }
  }
  return mutate(ctx, work, touchesOf({ order, orderId }))
}

/**
 * Records that a store canceled an order: an unpaid commission is canceled, a paid one reversed.
 *
 * @throws ApiError 400 `invalid_body` or 401 `store_domain_mismatch`.
 */
export async function cancelOrder(ctx: Context, body: Body<'cancelStoreOrder'>): Promise<Reply> {
  const orderId = shopifyOrderId(requireId('id', body.id))
  return mutate(ctx, async (trx, shop) => {
    requireSourceDomain(shop, body.order_status_url)
    const row = await findCommissionByOrder(trx, ctx.shop.id, orderId)
    const moved = row && (await cancelCommission(ctx, trx, row))
    // Stored for later: an order that is credited or reopened afterwards must not be paid.
    if (!moved && !(row && FINAL_STATUSES.includes(row.orderStatus)))
      await storeNotice(ctx, trx, cancellationNotice(orderId))
    return { result: toReply('Order canceled.', row), audit: moved ?? null }
  })
}

/**
 * Records that a store refunded an order. An amount that exceeds the order is cut off.
 *
 * @throws ApiError 400 `invalid_body` or 409 `store_refund_limit_reached`.
 */
export async function refundOrder(ctx: Context, body: Body<'refundStoreOrder'>): Promise<Reply> {
  const orderId = shopifyOrderId(requireId('order_id', body.order_id))
  return mutate(ctx, async (trx) => {
    const row = await findCommissionByOrder(trx, ctx.shop.id, orderId)
    if (row) {
      const { audit } = await recordRefund(ctx, trx, row, toStoreRefund(body, row.orderCurrency))
      return { result: toReply('Refund recorded.', row), audit }
    }
    const notice = { orderId, noticeId: requireId('id', body.id), body: JSON.stringify(minimalRefund(body)) }
    await storeRefundNotice(ctx, trx, notice)
    return { result: toReply('Refund stored until an affiliate is credited for its order.', row), audit: null }
  })
}

const toReply = (message: string, row: CommissionRow | undefined): Reply => ({
  ok: true,
  message,
  ...(row && { id: row.id }),
})

/** The first code that belongs to an affiliate; otherwise the first one, so that the decision can explain it. */
async function firstKnownCode(ctx: Context, trx: Transaction, codes: string[]): Promise<string | null> {
  for (const code of codes) if (await findAffiliateByCodeOrSlug(trx, ctx.shop.id, code)) return code
  return codes[0] ?? null
}

/** Cancels or reverses a commission. Undefined when its status cannot be canceled. */
async function cancelCommission(ctx: Context, trx: Transaction, row: CommissionRow): Promise<AuditEntry | undefined> {
  const { status } = await findEffectiveStatus(ctx, trx, row)
  const action = status === 'PAID' ? 'reverse' : 'cancel'
  if (status !== row.orderStatus || !TRANSITIONS[action].from.includes(status)) return undefined
  const { audit, leftBatchId } = await moveCommission(ctx, trx, action, row)
  if (leftBatchId) await recomputeBatch(ctx, trx, leftBatchId)
  return audit
}

/** Applies stored cancellations and refunds in the transaction that credits the order. */
async function applyStoredNotices(ctx: Context, trx: Transaction, orderId: string): Promise<AuditEntry[]> {
  const audits: Mutation<unknown>['audit'][] = []
  const notices = await listStoreNotices(trx, ctx.shop.id, orderId)
  const snapshot = notices.length > 0 ? readRefundSnapshot(await findRecordedOrder(ctx, trx, orderId)) : undefined
  await forEachYielding(trx, notices, async ({ kind, body }) => {
    const row = await findCommissionByOrder(trx, ctx.shop.id, orderId)
    if (!row) return
    if (kind === 'canceled') audits.push((await cancelCommission(ctx, trx, row)) ?? null)
    else audits.push((await recordRefund(ctx, trx, row, readStoredRefund(body, row), snapshot)).audit)
  })
  return audits.flatMap((audit) => audit ?? [])
}

const cancellationNotice = (orderId: string) => ({ orderId, kind: 'canceled' as const, noticeId: '', body: '{}' })

const readStoredRefund = (body: string, { orderCurrency }: CommissionRow): RefundInput =>
  toStoreRefund(JSON.parse(body), orderCurrency)

/** Stores a refund until its order is credited. All are applied in that one transaction, so their number is limited. */
async function storeRefundNotice(
  ctx: Context,
  trx: Transaction,
  notice: { orderId: string; noticeId: string; body: string },
) {
  const stored = await listStoredRefunds(trx, ctx.shop.id, notice.orderId)
  if (stored.some(({ noticeId }) => noticeId === notice.noticeId)) return
  const length = stored.reduce((sum, one) => sum + one.length, 0)
  if (stored.length >= MAX_STORED_REFUNDS || length > MAX_STORED_LENGTH) {
    throw conflict(
      'store_refund_limit_reached',
      'Too many refunds are pending for this order. Resend this refund once the order has been credited.',
    )
  }
  await storeNotice(ctx, trx, { ...notice, kind: 'refund' })
}

const storeNotice = (ctx: Context, trx: Transaction, notice: Omit<StoreNoticeRow, 'shopId' | 'createdAt'>) =>
  insertStoreNoticeIfNew(trx, ctx.shop.id, { ...notice, createdAt: nowIso(ctx) })
