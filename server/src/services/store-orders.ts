import { type Context, nowIso } from '../context.ts'
import type { Trx } from '../db/database.ts'
import type { CommissionRow } from '../db/tables.ts'
import type { StoreNoticeRow } from '../db/tables-owner.ts'
import { storedOrderId } from '../engine/order-id.ts'
import type { components } from '../http/schema.d.ts'
import type { Body } from '../http/spec.ts'
import { findCommissionByOrder } from '../repositories/commissions.ts'
import { insertStoreNoticeIfNew, listStoreNotices } from '../repositories/store-notices.ts'
import { affiliateByCode } from './facts.ts'
import { MOVES, move } from './moderation.ts'
import { type AuditEntry, type Mutation, mutate } from './mutate.ts'
import { recordOrder } from './orders.ts'
import { recomputeBatch } from './payout-batch.ts'
import { recordRefund, type WantedRefund } from './refunds.ts'
import { standingOf } from './standing.ts'
import { requireDomainOf } from './store-domain.ts'
import { storeId, toStoreOrder } from './store-order.ts'
import { essenceOf, toStoreRefund } from './store-refund.ts'

type Reply = components['schemas']['ActionReply']

/** There is nothing left that a cancellation could stop. */
const OVER: CommissionRow['orderStatus'][] = ['CANCELED', 'REVERSED', 'REFUNDED']

/**
 * Records an order that a store says was paid, once, through the one money path (section 1); then what the store had
 * told of it before.
 *
 * @throws ApiError 400 `invalid_body` or 401 `store_domain_mismatch`.
 */
export async function paid(
  ctx: Context,
  body: Body<'recordStoreOrder'>,
): Promise<{ reply: Reply; alreadyRecorded: boolean }> {
  const { order, orderName, codes } = toStoreOrder(ctx, body)
  const orderId = storedOrderId('shopify', order.externalOrderId)
  return mutate(ctx, async (trx, shop) => {
    requireDomainOf(shop, body.order_status_url)
    const couponCode = await firstKnown(ctx, trx, codes)
    const incoming = { order: { ...order, couponCode }, orderId, orderName, trackingMethod: 'STORE_ORDER' as const }
    const { result, audit, ...written } = await recordOrder({ ...ctx, shop }, trx, incoming)
    const { commissionId, alreadyRecorded } = result
    if (body.cancelled_at && !alreadyRecorded) await keep(ctx, trx, canceledNotice(orderId))
    const later = commissionId && !alreadyRecorded ? await catchUp(ctx, trx, orderId) : []
    const message = alreadyRecorded ? 'Order recorded before.' : 'Order recorded.'
    const reply: Reply = { ok: true, message, ...(commissionId && { id: commissionId }) }
    const audits = [audit ?? [], later].flat()
    return { ...written, result: { reply, alreadyRecorded }, audit: audits.length ? audits : null }
  })
}

/**
 * Takes in that a store cancelled an order: unpaid commission is canceled, paid commission taken back.
 *
 * @throws ApiError 400 `invalid_body` or 401 `store_domain_mismatch`.
 */
export async function canceled(ctx: Context, body: Body<'cancelStoreOrder'>): Promise<Reply> {
  const orderId = storedOrderId('shopify', storeId('id', body.id))
  return mutate(ctx, async (trx, shop) => {
    requireDomainOf(shop, body.order_status_url)
    const row = await findCommissionByOrder(trx, ctx.shop.id, orderId)
    const moved = row && (await cancelRow(ctx, trx, row))
    // What cannot be canceled now, because nobody or a rejected affiliate stands behind it, must not be paid later.
    if (!moved && !(row && OVER.includes(row.orderStatus))) await keep(ctx, trx, canceledNotice(orderId))
    return { result: toReply('Order canceled.', row), audit: moved ?? null }
  })
}

/** Takes in that a store refunded an order. What is more than there is left, is cut off. */
export async function refunded(ctx: Context, body: Body<'refundStoreOrder'>): Promise<Reply> {
  const orderId = storedOrderId('shopify', storeId('order_id', body.order_id))
  return mutate(ctx, async (trx) => {
    const row = await findCommissionByOrder(trx, ctx.shop.id, orderId)
    if (row) {
      const { audit } = await recordRefund(ctx, trx, row, toStoreRefund(body, row.currency))
      return { result: toReply('Refund recorded.', row), audit }
    }
    const notice = { noticeId: storeId('id', body.id), body: JSON.stringify(essenceOf(body)) }
    await keep(ctx, trx, { orderId, kind: 'refund', ...notice })
    return { result: toReply('Refund kept until somebody is credited for its order.', row), audit: null }
  })
}

const toReply = (message: string, row: CommissionRow | undefined): Reply => ({
  ok: true,
  message,
  ...(row && { id: row.id }),
})

/** The first code that belongs to an affiliate; else the first, so that the decision can say that it names nobody. */
async function firstKnown(ctx: Context, trx: Trx, codes: string[]): Promise<string | null> {
  for (const code of codes) if (await affiliateByCode(trx, ctx.shop.id, code)) return code
  return codes[0] ?? null
}

/** Undefined when its status has nothing to cancel. */
async function cancelRow(ctx: Context, trx: Trx, row: CommissionRow): Promise<AuditEntry | undefined> {
  const { status } = await standingOf(ctx, trx, row)
  const action = status === 'PAID' ? 'reverse' : 'cancel'
  if (status !== row.orderStatus || !MOVES[action].from.includes(status)) return undefined
  const { audit, leftBatchId } = await move(ctx, trx, action, row)
  if (leftBatchId) await recomputeBatch(trx, ctx, leftBatchId)
  return audit
}

/** What the store told before the order could be credited, in the transaction that credits it. */
async function catchUp(ctx: Context, trx: Trx, orderId: string): Promise<AuditEntry[]> {
  const audits: Mutation<unknown>['audit'][] = []
  for (const { kind, body } of await listStoreNotices(trx, ctx.shop.id, orderId)) {
    const row = await findCommissionByOrder(trx, ctx.shop.id, orderId)
    if (!row) continue
    if (kind === 'canceled') audits.push((await cancelRow(ctx, trx, row)) ?? null)
    else audits.push((await recordRefund(ctx, trx, row, wantedOf(body, row))).audit)
  }
  return audits.flatMap((audit) => audit ?? [])
}

const canceledNotice = (orderId: string) => ({ orderId, kind: 'canceled' as const, noticeId: '', body: '{}' })

const wantedOf = (body: string, { currency }: CommissionRow): WantedRefund => toStoreRefund(JSON.parse(body), currency)

const keep = (ctx: Context, trx: Trx, notice: Omit<StoreNoticeRow, 'shopId' | 'createdAt'>) =>
  insertStoreNoticeIfNew(trx, { ...notice, shopId: ctx.shop.id, createdAt: nowIso(ctx) })
