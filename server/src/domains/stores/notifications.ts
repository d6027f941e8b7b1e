import type { components } from '../../contract/schema.d.ts'
import type { Body } from '../../contract/spec.ts'
import type { Context } from '../../core/context.ts'
import { mutate } from '../../core/mutate.ts'
import type { Transaction } from '../../database/database.ts'
import { storedOrderId } from '../../engine/normalize.ts'
import { requireSourceDomain } from '../accounts/store-connection.ts'
import { findAffiliateByCodeOrSlug } from '../affiliates/name-queries.ts'
import { type ParseRefund, reportCancellation, reportRefund } from '../orders/notices.ts'
import { recordOrder } from '../orders/record-order.ts'
import { minimalRefund, requireId, toStoreOrder, toStoreRefund } from './shopify-payload.ts'

type Reply = components['schemas']['ActionReply']

interface RecordedPaidOrder {
  reply: Reply
  alreadyRecorded: boolean
}

const shopifyOrderId = (externalOrderId: string) => storedOrderId('shopify', externalOrderId)

/**
 * Records a paid order of a store, once, and then applies the cancellations and refunds that arrived before it.
 *
 * @throws ApiError 400 `invalid_body` or 401 `store_domain_mismatch`.
 */
export async function recordPaidOrder(ctx: Context, body: Body<'recordStoreOrder'>): Promise<RecordedPaidOrder> {
  const { order, orderName, codes } = toStoreOrder(ctx, body)
  const orderId = shopifyOrderId(order.externalOrderId)
  return mutate(ctx, async (trx, shop) => {
    requireSourceDomain(shop, body.order_status_url)
    const couponCode = await firstKnownCode(ctx, trx, codes)
    const incoming = { order: { ...order, couponCode }, orderId, orderName, trackingMethod: 'STORE_ORDER' as const }
    const { result, ...written } = await recordOrder({ ...ctx, shop }, trx, incoming, {
      parseRefund: parseStoredRefund,
      isCanceled: Boolean(body.cancelled_at),
    })
    const { commissionId, alreadyRecorded } = result
    const message = alreadyRecorded ? 'Order was already recorded.' : 'Order recorded.'
    const reply: Reply = { ok: true, message, ...(commissionId && { id: commissionId }) }
    return { ...written, result: { reply, alreadyRecorded } }
  })
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
    const { result, ...written } = await reportCancellation(ctx, trx, orderId)
    return { ...written, result: toReply('Order canceled.', result.row?.id) }
  })
}

/**
 * Records that a store refunded an order. An amount that exceeds the order is cut off.
 *
 * @throws ApiError 400 `invalid_body` or 409 `store_refund_limit_reached`.
 */
export async function refundOrder(ctx: Context, body: Body<'refundStoreOrder'>): Promise<Reply> {
  const orderId = shopifyOrderId(requireId('order_id', body.order_id))
  const notice = { orderId, noticeId: requireId('id', body.id), body: JSON.stringify(minimalRefund(ctx, body)) }
  return mutate(ctx, async (trx) => {
    const { result, ...written } = await reportRefund(ctx, trx, notice, parseStoredRefund)
    if (result.outcome === 'applied') return { ...written, result: toReply('Refund recorded.', result.row.id) }
    return { ...written, result: toReply('Refund stored until an affiliate is credited for its order.', undefined) }
  })
}

const parseStoredRefund: ParseRefund = (body, order) => toStoreRefund(JSON.parse(body), order)

const toReply = (message: string, id: string | undefined): Reply => ({ ok: true, message, ...(id && { id }) })

/** The first code that belongs to an affiliate; otherwise the first one, so that the decision can explain it. */
export async function firstKnownCode(ctx: Context, trx: Transaction, codes: string[]): Promise<string | null> {
  for (const code of codes) if (await findAffiliateByCodeOrSlug(trx, ctx.shop.id, code)) return code
  return codes[0] ?? null
}
