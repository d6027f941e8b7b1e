import type { components } from '../../contract/schema.d.ts'
import type { Body } from '../../contract/spec.ts'
import type { Context } from '../../core/context.ts'
import { nowIso } from '../../core/context.ts'
import { type Mutation, mutate } from '../../core/mutate.ts'
import type { Transaction } from '../../database/database.ts'
import { forEachInSlices } from '../../database/event-loop.ts'
import type { OrderNoticeRow } from '../../database/tables.ts'
import type { Order } from '../../engine/facts.ts'
import { storedOrderId } from '../../engine/normalize.ts'
import { parseFacts } from '../../engine/stored-facts.ts'
import {
  deleteOrderNotices,
  findPaymentOrder,
  insertOrderNoticeIfNew,
  insertPaymentIfNew,
  listOrderNotices,
} from '../ledger/order-notices.ts'
import { findOrder } from '../ledger/orders.ts'
import { applyNotices, type ParseRefund, reportRefund, reportRefundCancellation } from '../orders/notices.ts'
import { recordOrder } from '../orders/record-order.ts'
import * as signUps from '../orders/sign-ups.ts'
import { firstKnownCode } from './notifications.ts'
import { type Evidence, hasEvidence, type RefundedOrder, type StripeCall, toStripeCalls } from './stripe-event.ts'

type Reply = components['schemas']['ActionReply']
/** What a call wrote, and what the reply says of it. */
type Applied = Mutation<{ message: string; commissionId: string | null }>

const stripeOrderId = (id: string) => storedOrderId('stripe', id)

/**
 * Records a Stripe event. Every call has an id of Stripe's that counts once, so repeated events change nothing.
 *
 * @throws ApiError 400 `invalid_body` for an unknown currency, 409 `refund_currency_mismatch` or `store_refund_limit_reached`.
 */
export async function recordEvent(ctx: Context, event: Body<'recordStripeEvent'>): Promise<Reply> {
  const isOfShop = event.livemode === (ctx.shop.isTest === 0)
  const calls = isOfShop ? toStripeCalls(ctx, event) : []
  if (calls.length === 0) return { ok: true, message: 'Ignored.' }
  return mutate(ctx, async (trx, shop) => {
    const written: Applied[] = []
    // Each can be a refund of an order of a thousand lines.
    await forEachInSlices(trx, calls, async (call) => written.push(...(await apply({ ...ctx, shop }, trx, call))))
    const { message, commissionId } = written.at(-1)?.result ?? { message: 'Recorded.', commissionId: null }
    return {
      result: { ok: true, message, ...(commissionId !== null && { id: commissionId }) },
      audit: written.flatMap(({ audit }) => audit ?? []),
      events: written.flatMap(({ events }) => events ?? []),
    }
  })
}

async function apply(ctx: Context, trx: Transaction, call: StripeCall): Promise<Applied[]> {
  switch (call.call) {
    case 'order': {
      const orderId = stripeOrderId(call.order.externalOrderId)
      const moved = await linkPayments(ctx, trx, orderId, call.payments)
      return [...moved, await applyOrder(ctx, trx, { ...call, orderId })]
    }
    case 'payments':
      return linkPayments(ctx, trx, stripeOrderId(call.orderId), call.payments)
    case 'evidence':
      return applyEvidence(ctx, trx, stripeOrderId(call.orderId), call.evidence)
    case 'customer': {
      const { customerId, customerEmail, occurredAt, evidence } = call
      const { codes, ...links } = evidence
      const couponCode = await firstKnownCode(ctx, trx, codes)
      // One of the two is there, which the document's type requires.
      const body = { customerId, customerEmail, occurredAt, ...links, couponCode } as Body<'createCustomer'>
      const { result, ...written } = await signUps.recordInTransaction(ctx, trx, body)
      return [{ ...written, result: { message: 'Customer recorded.', commissionId: null } }]
    }
    case 'refund': {
      const { amountCents, currency, reason, occurredAt } = call
      const body = JSON.stringify({ amountCents, currency, reason, occurredAt })
      const orderId = await findRefundedOrder(ctx, trx, call.order)
      return [await applyRefund(ctx, trx, { orderId, noticeId: call.refundId, body })]
    }
    case 'cancelRefund':
      return [
        await applyRefundCancellation(ctx, trx, {
          orderId: await findRefundedOrder(ctx, trx, call.order),
          noticeId: call.refundId,
        }),
      ]
  }
}

interface StripeOrder extends Evidence {
  order: Order
  orderId: string
  orderName: string | null
}

/** Without evidence of its own, an order takes that of its checkout. */
async function applyOrder(
  ctx: Context,
  trx: Transaction,
  { order, orderId, orderName, codes }: Omit<StripeOrder, 'clickId' | 'ref'>,
): Promise<Applied> {
  const own: Evidence = { clickId: order.clickId, ref: order.ref, codes }
  const checkout = hasEvidence(own) ? undefined : await findCheckoutEvidence(ctx, trx, orderId)
  const { codes: known, ...links } = checkout ?? own
  const couponCode = await firstKnownCode(ctx, trx, known)
  const incoming = { order: { ...order, ...links, couponCode }, orderId, orderName }
  const { result, ...written } = await recordOrder(
    ctx,
    trx,
    { ...incoming, trackingMethod: 'STORE_ORDER' },
    { parseRefund },
  )
  const { commissionId, alreadyRecorded } = result
  const recorded = commissionId === null ? 'Order recorded. Nobody is credited.' : 'Order recorded.'
  return { ...written, result: { message: alreadyRecorded ? 'Order was already recorded.' : recorded, commissionId } }
}

const EVIDENCE = { kind: 'evidence', noticeId: '' } as const

async function findCheckoutEvidence(ctx: Context, trx: Transaction, orderId: string): Promise<Evidence | undefined> {
  const notices = await listOrderNotices(trx, ctx.shop.id, orderId)
  const stored = notices.find(({ kind }) => kind === EVIDENCE.kind)
  return stored && (JSON.parse(stored.body) as Evidence)
}

/** Keeps the evidence of a checkout for its invoice; one that was reported before it and credited nobody is decided again. */
async function applyEvidence(ctx: Context, trx: Transaction, orderId: string, evidence: Evidence): Promise<Applied[]> {
  const notice = { ...EVIDENCE, orderId, body: JSON.stringify(evidence), createdAt: nowIso(ctx) }
  await insertOrderNoticeIfNew(trx, ctx.shop.id, notice)
  const reported = await findOrder(trx, ctx.shop.id, orderId)
  if (!reported || reported.commissionId) return []
  const { order } = parseFacts(reported.facts)
  const codes = order.couponCode === null ? [] : [order.couponCode]
  return [await applyOrder(ctx, trx, { order, orderId, orderName: reported.orderName, codes })]
}

/** Connects an invoice with its payments, and applies the refunds of these that arrived before. */
async function linkPayments(ctx: Context, trx: Transaction, orderId: string, payments: string[]): Promise<Applied[]> {
  const applied: Applied[] = []
  for (const paymentId of payments) {
    if (!(await insertPaymentIfNew(trx, ctx.shop.id, { paymentId, orderId }))) continue
    const early = stripeOrderId(paymentId)
    const notices = (await listOrderNotices(trx, ctx.shop.id, early)).map((one) => ({ ...one, orderId }))
    if (notices.length === 0) continue
    await deleteOrderNotices(trx, ctx.shop.id, early)
    for (const notice of notices) await insertOrderNoticeIfNew(trx, ctx.shop.id, notice)
    const { audits: audit, events } = await applyNotices(ctx, trx, { orderId, notices, parseRefund })
    applied.push({ result: { message: 'Recorded.', commissionId: null }, audit, events })
  }
  return applied
}

/** The order of a refund. Until its invoice is known, the refund waits under the id of its payment. */
async function findRefundedOrder(ctx: Context, trx: Transaction, order: RefundedOrder): Promise<string> {
  if ('orderId' in order) return stripeOrderId(order.orderId)
  for (const paymentId of order.payments) {
    const orderId = await findPaymentOrder(trx, ctx.shop.id, paymentId)
    if (orderId !== undefined) return orderId
  }
  return stripeOrderId(order.payments[0]!)
}

async function applyRefund(
  ctx: Context,
  trx: Transaction,
  { orderId, noticeId, body }: Pick<OrderNoticeRow, 'orderId' | 'noticeId' | 'body'>,
): Promise<Applied> {
  const { result, ...written } = await reportRefund(ctx, trx, { orderId, noticeId, body }, parseRefund)
  const message =
    result.outcome === 'applied' ? 'Refund recorded.' : 'Refund stored until an affiliate is credited for its order.'
  return { ...written, result: { message, commissionId: result.row?.id ?? null } }
}

async function applyRefundCancellation(
  ctx: Context,
  trx: Transaction,
  notice: Pick<OrderNoticeRow, 'orderId' | 'noticeId'>,
): Promise<Applied> {
  const { result, ...written } = await reportRefundCancellation(ctx, trx, notice)
  return { ...written, result: { message: 'Refund canceled.', commissionId: result.row?.id ?? null } }
}

interface StoredRefund {
  amountCents: number
  currency: string
  reason: string | null
  occurredAt: string
}

/** A refund's share of what was paid is its share of the goods, rounded up, so that a full refund leaves nothing. */
const parseRefund: ParseRefund = (text, { goodsCents, paidCents }) => {
  const { amountCents, currency, reason, occurredAt }: StoredRefund = JSON.parse(text)
  return {
    amountCents:
      amountCents < paidCents
        ? Number((BigInt(amountCents) * BigInt(goodsCents) + BigInt(paidCents) - 1n) / BigInt(paidCents))
        : goodsCents,
    currency,
    lineItems: [],
    reason,
    occurredAt,
    alreadyHappened: true,
  }
}
