import type { components } from '../../contract/schema.d.ts'
import type { Body } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { type Mutation, mutate } from '../../core/mutate.ts'
import type { Transaction } from '../../database/database.ts'
import { forEachInSlices } from '../../database/event-loop.ts'
import { deleteRows, findRow } from '../../database/rows.ts'
import { storedOrderId } from '../../engine/normalize.ts'
import { parseFacts } from '../../engine/stored-facts.ts'
import { requireSourceDomain } from '../accounts/store-connection.ts'
import { findAffiliateByCodeOrSlug } from '../affiliates/name-queries.ts'
import { insertOrderNoticeIfNew, insertPaymentIfNew, listOrderNotices } from '../ledger/order-notices.ts'
import { findOrder } from '../ledger/orders.ts'
import { applyNotices, reportCancellation, reportRefund, reportRefundCancellation } from '../orders/notices.ts'
import { recordOrder } from '../orders/record-order.ts'
import * as signUps from '../orders/sign-ups.ts'
import {
  type Evidence,
  hasEvidence,
  type RefundedOrder,
  type StoreCall,
  type StoreModule,
  type StoreOrder,
} from './store.ts'

interface Received {
  reply: components['schemas']['ActionReply']
  /** Whether the order was recorded before. Nothing was changed then. */
  alreadyRecorded: boolean
}

/** What a call wrote, and what the response says about it. */
type Applied = Mutation<{ message: string; commissionId?: string | null | undefined; alreadyRecorded?: boolean }>

interface Receiver {
  ctx: Context
  trx: Transaction
  store: Pick<StoreModule<never>, 'source' | 'parseRefund'>
}

/**
 * Records a store's event in one transaction. Every call has a store ID that counts once, so repeated events change
 * nothing.
 *
 * @throws ApiError 400 `invalid_body`, 401 `store_domain_mismatch`, or 409 `store_refund_limit_reached`.
 */
export async function receive<Event>(ctx: Context, store: StoreModule<Event>, event: Event): Promise<Received> {
  const calls = store.toCalls(ctx, event)
  if (calls.length === 0) return { reply: { ok: true, message: 'Ignored.' }, alreadyRecorded: false }
  return mutate(ctx, async (trx, shop) => {
    const written: Applied[] = []
    // Each can be a refund of an order with a thousand lines.
    await forEachInSlices(trx, calls, async (call) =>
      written.push(...(await apply({ ctx: { ...ctx, shop }, trx, store }, call))),
    )
    const { message, commissionId, alreadyRecorded = false } = written.at(-1)?.result ?? { message: 'Recorded.' }
    return {
      result: { reply: { ok: true, message, ...(commissionId && { id: commissionId }) }, alreadyRecorded },
      audit: written.flatMap(({ audit }) => audit ?? []),
      events: written.flatMap(({ events }) => events ?? []),
    }
  })
}

async function apply(receiver: Receiver, call: StoreCall): Promise<Applied[]> {
  const { ctx, trx, store } = receiver
  const idOf = (id: string) => storedOrderId(store.source, id)
  switch (call.call) {
    case 'order': {
      requireSourceDomain(ctx.shop, call.sourceUrl)
      const orderId = idOf(call.order.externalOrderId)
      const moved = await linkPayments(receiver, orderId, call.payments ?? [])
      return [...moved, await applyOrder(receiver, { ...call, orderId })]
    }
    case 'cancel': {
      requireSourceDomain(ctx.shop, call.sourceUrl)
      const { result, ...written } = await reportCancellation(ctx, trx, idOf(call.orderId))
      return [{ ...written, result: { message: 'Order canceled.', commissionId: result.row?.id } }]
    }
    case 'payments':
      return linkPayments(receiver, idOf(call.orderId), call.payments)
    case 'evidence':
      return applyEvidence(receiver, idOf(call.orderId), call.evidence)
    case 'customer': {
      const { customerId, customerEmail, occurredAt, evidence } = call
      const { codes, ...links } = evidence
      const couponCode = await firstKnownCode(receiver, codes)
      // The schema requires one of the two.
      const body = { customerId, customerEmail, occurredAt, ...links, couponCode } as Body<'createCustomer'>
      const { result: _, ...written } = await signUps.recordInTransaction(ctx, trx, body)
      return [{ ...written, result: { message: 'Customer recorded.' } }]
    }
    case 'refund': {
      const orderId = await findRefundedOrder(receiver, call.order)
      const notice = { orderId, noticeId: call.refundId, body: JSON.stringify(call.body) }
      const { result, ...written } = await reportRefund(ctx, trx, notice, store.parseRefund)
      const isApplied = result.outcome === 'applied'
      const message = isApplied ? 'Refund recorded.' : 'Refund stored until an affiliate is credited for its order.'
      return [{ ...written, result: { message, commissionId: result.row?.id } }]
    }
    case 'cancelRefund': {
      const orderId = await findRefundedOrder(receiver, call.order)
      const { result, ...written } = await reportRefundCancellation(ctx, trx, { orderId, noticeId: call.refundId })
      return [{ ...written, result: { message: 'Refund canceled.', commissionId: result.row?.id } }]
    }
  }
}

type IncomingOrder = StoreOrder & { orderId: string; isCanceled?: boolean }

/** An order without its own evidence uses its checkout's. */
async function applyOrder(receiver: Receiver, incoming: IncomingOrder): Promise<Applied> {
  const { ctx, trx, store } = receiver
  const { order, orderId, orderName, codes, isCanceled = false } = incoming
  const evidence: Evidence = { clickId: order.clickId, ref: order.ref, codes }
  const checkout = hasEvidence(evidence) ? undefined : await findCheckoutEvidence(receiver, orderId)
  const { codes: known, ...links } = checkout ?? evidence
  const couponCode = await firstKnownCode(receiver, known)
  const { result, ...written } = await recordOrder(
    ctx,
    trx,
    { order: { ...order, ...links, couponCode }, orderId, orderName, trackingMethod: 'STORE_ORDER' },
    { parseRefund: store.parseRefund, isCanceled },
  )
  const { commissionId, alreadyRecorded } = result
  const message = alreadyRecorded ? 'Order was already recorded.' : 'Order recorded.'
  return { ...written, result: { message, commissionId, alreadyRecorded } }
}

/** The first code that belongs to an affiliate, otherwise the first code, so that the decision can explain it. */
async function firstKnownCode({ ctx, trx }: Receiver, codes: string[]): Promise<string | null> {
  for (const code of codes) if (await findAffiliateByCodeOrSlug(trx, ctx.shop.id, code)) return code
  return codes[0] ?? null
}

const EVIDENCE = { kind: 'evidence', noticeId: '' } as const

async function findCheckoutEvidence({ ctx, trx }: Receiver, orderId: string): Promise<Evidence | undefined> {
  const notices = await listOrderNotices(trx, ctx.shop.id, orderId)
  const stored = notices.find(({ kind }) => kind === EVIDENCE.kind)
  return stored && (JSON.parse(stored.body) as Evidence)
}

/**
 * Stores a checkout's evidence for its order. An order that was reported earlier and credited nobody is decided again.
 */
async function applyEvidence(receiver: Receiver, orderId: string, evidence: Evidence): Promise<Applied[]> {
  const { ctx, trx } = receiver
  const notice = { ...EVIDENCE, orderId, body: JSON.stringify(evidence), createdAt: nowIso(ctx) }
  await insertOrderNoticeIfNew(trx, ctx.shop.id, notice)
  const reported = await findOrder(trx, ctx.shop.id, orderId)
  if (!reported || reported.commissionId) return []
  const { order } = parseFacts(reported.facts)
  const codes = order.couponCode === null ? [] : [order.couponCode]
  return [await applyOrder(receiver, { order, orderId, orderName: reported.orderName, codes })]
}

/** Connects an order to its payments, and applies the payments' refunds that arrived earlier. */
async function linkPayments(receiver: Receiver, orderId: string, payments: string[]): Promise<Applied[]> {
  const { ctx, trx, store } = receiver
  const applied: Applied[] = []
  for (const paymentId of payments) {
    if (!(await insertPaymentIfNew(trx, ctx.shop.id, { paymentId, orderId }))) continue
    const early = storedOrderId(store.source, paymentId)
    const notices = (await listOrderNotices(trx, ctx.shop.id, early)).map((notice) => ({ ...notice, orderId }))
    if (notices.length === 0) continue
    await deleteRows(trx, 'orderNotices', { shopId: ctx.shop.id, orderId: early })
    for (const notice of notices) await insertOrderNoticeIfNew(trx, ctx.shop.id, notice)
    const { parseRefund } = store
    const { audits: audit, events } = await applyNotices(ctx, trx, { orderId, notices, parseRefund })
    applied.push({ result: { message: 'Recorded.' }, audit, events })
  }
  return applied
}

/** A refund's order. Until its order is known, the refund waits under its payment's ID. */
async function findRefundedOrder({ ctx, trx, store }: Receiver, order: RefundedOrder): Promise<string> {
  if ('orderId' in order) return storedOrderId(store.source, order.orderId)
  for (const paymentId of order.payments) {
    const payment = await findRow(trx, 'orderPayments', { shopId: ctx.shop.id, paymentId })
    if (payment) return payment.orderId
  }
  return storedOrderId(store.source, order.payments[0]!)
}
