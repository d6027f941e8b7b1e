import { type Context, nowIso } from '../../core/context.ts'
import type { Mutation } from '../../core/mutate.ts'
import type { Transaction } from '../../database/database.ts'
import type { CommissionRow } from '../../database/tables.ts'
import { goodsOf } from '../../engine/commission.ts'
import { decide } from '../../engine/decide.ts'
import type { Decision, Facts, Order } from '../../engine/facts.ts'
import { emailKey } from '../../engine/normalize.ts'
import { serializeFacts } from '../../engine/stored-facts.ts'
import { auditedAmounts, statusEvents } from '../commissions/event-queries.ts'
import { bindByFirstOrder, type Customer, customerOf, storeCustomer } from '../customers/binding.ts'
import { boundEvent } from '../customers/customers.ts'
import { insertJourneyEntry, replaceJourneyEntry } from '../journey/queries.ts'
import { insertCommission, termsColumns, toCommission } from '../ledger/commissions.ts'
import { insertOrderNoticeIfNew, listOrderNotices } from '../ledger/order-notices.ts'
import { findOrder, hasSameAmounts, insertOrder, updateOrder } from '../ledger/orders.ts'
import { gatherFacts } from './gather-facts.ts'
import { applyNotices, cancellationNotice, type ParseRefund } from './notices.ts'

/** An order from any source, before it is decided. */
export interface IncomingOrder {
  order: Order
  /** Unique in the shop, prefixed with the source: `api:1001`. */
  orderId: string
  orderName: string | null
  trackingMethod: 'API' | 'STORE_ORDER'
}

interface RecordedOrder {
  commissionId: string | null
  decision: Decision
  /** Whether the order was recorded before. Nothing was changed then; `differs` is set if it had different amounts. */
  alreadyRecorded: boolean
  differs?: boolean
}

interface OrderOptions {
  parseRefund: ParseRefund
  /** Whether the order was canceled before it was reported. */
  isCanceled?: boolean
}

/**
 * Records an order from any source and, when it is credited, applies the cancellations and refunds that arrived before
 * it. The result and the event contain the original decision.
 *
 * @param ctx `ctx.shop` must be the row as read in `trx`
 */
export async function recordOrder(
  ctx: Context,
  trx: Transaction,
  incoming: IncomingOrder,
  { parseRefund, isCanceled = false }: OrderOptions,
): Promise<Mutation<RecordedOrder>> {
  const { orderId } = incoming
  const [stored, recorded] = await Promise.all([
    listOrderNotices(trx, ctx.shop.id, orderId),
    recordDecision(ctx, trx, incoming),
  ])
  const { commissionId, alreadyRecorded } = recorded.result
  if (alreadyRecorded) return recorded
  const isNewCancellation = isCanceled && !stored.some(({ kind }) => kind === 'canceled')
  const cancellation = cancellationNotice(ctx, orderId)
  if (isNewCancellation) await insertOrderNoticeIfNew(trx, ctx.shop.id, cancellation)
  const notices = isNewCancellation ? [cancellation, ...stored] : stored
  if (!commissionId || notices.length === 0) return recorded
  const { audits, events } = await applyNotices(ctx, trx, { orderId, notices, parseRefund })
  return { ...recorded, audit: [recorded.audit ?? [], audits].flat(), events: [...(recorded.events ?? []), ...events] }
}

/**
 * Gathers facts, decides, and stores the decision once. A credited order keeps its first decision. An order that nobody
 * was credited for is decided again with a later report.
 */
async function recordDecision(
  ctx: Context,
  trx: Transaction,
  incoming: IncomingOrder,
): Promise<Mutation<RecordedOrder>> {
  const [existing, { facts, keys, known }] = await Promise.all([
    findOrder(trx, ctx.shop.id, incoming.orderId),
    gatherFacts(trx, ctx.shop, incoming),
  ])
  if (existing?.commissionId) {
    const decision = JSON.parse(existing.decision)
    const recorded = { commissionId: existing.commissionId, decision, alreadyRecorded: true }
    return { result: { ...recorded, differs: !hasSameAmounts(existing, incoming.order) }, audit: null }
  }
  const decision = decide(facts)
  const customer = decision.status === null ? undefined : customerOf(ctx, keys, known)
  const row = decision.status === null ? null : newCommission(ctx, incoming, decision, customer)
  const shouldBind = decision.connectsCustomer && hasNoConnection(facts)
  const bound = row && customer && shouldBind ? await bindByFirstOrder(ctx, trx, customer, row) : customer
  if (bound) await storeCustomer(trx, bound)
  if (row) await insertCommission(trx, ctx.shop.id, row)
  await storeOrder(ctx, trx, {
    incoming,
    facts,
    decision,
    commissionId: row?.id ?? null,
    isKnown: existing !== undefined,
  })
  const result = { commissionId: row?.id ?? null, decision, alreadyRecorded: false }
  if (!row)
    return {
      result,
      audit: {
        action: 'order.unattributed',
        subjectId: incoming.orderId,
        data: { reasonCode: decision.attribution.reasonCode },
      },
    }
  const stored = { ...row, shopId: ctx.shop.id }
  const isBound = bound !== undefined && bound !== customer
  const counted = { orders: 1, firstOrderAt: row.happenedAt }
  const data = { ...toCommission(stored), attribution: decision.attribution }
  return {
    result,
    audit: {
      action: 'commission.created',
      subjectId: row.id,
      data: auditedAmounts(row),
    },
    events: [
      { event: 'commission.created', data },
      ...statusEvents(stored, null),
      ...(isBound ? [await boundEvent(ctx, trx, { row: bound.row, counted })] : []),
    ],
  }
}

function newCommission(
  ctx: Context,
  { order, orderId, orderName, trackingMethod }: IncomingOrder,
  decision: Decision,
  customer: Customer | undefined,
): Omit<CommissionRow, 'shopId'> {
  const createdAt = nowIso(ctx)
  return {
    id: ctx.newId('com'),
    affiliateId: decision.attribution.affiliateId!,
    programId: decision.programId,
    externalOrderId: order.externalOrderId,
    orderId,
    orderName,
    currency: decision.currency ?? order.currency,
    orderCurrency: order.currency,
    commissionType: decision.commissionType,
    commissionBaseCents: decision.baseCents,
    remainingBaseCents: decision.baseCents,
    commissionRateBps: decision.rateBps,
    commissionAmountCents: decision.amountCents,
    taxWithheldCents: decision.taxWithheldCents,
    orderSubtotalCents: decision.subtotalCents,
    orderDiscountCents: order.discountCents,
    orderShippingCents: order.shippingCents,
    orderTaxCents: order.taxCents,
    trackingMethod,
    attributionMethod: decision.attribution.method,
    attributionReasonCode: decision.attribution.reasonCode,
    restrictionReasonCode: decision.restrictionReasonCode,
    orderStatus: decision.status!,
    payoutBatchId: null,
    ...termsColumns(decision, order),
    debtId: null,
    customer: customer?.row.id ?? null,
    happenedAt: order.orderAt,
    paidAt: null,
    createdAt,
    updatedAt: createdAt,
    version: 1,
  }
}

interface DecidedOrder {
  incoming: IncomingOrder
  facts: Facts
  decision: Decision
  commissionId: string | null
  /** Whether the order was reported before and nobody was credited. */
  isKnown: boolean
}

/** Stores facts and decision together, and adds the order to the customer's journey. */
async function storeOrder(ctx: Context, trx: Transaction, decided: DecidedOrder): Promise<void> {
  const { incoming, facts, decision, commissionId, isKnown } = decided
  const { order, orderId, orderName } = incoming
  const createdAt = nowIso(ctx)
  const [writeOrder, writeEntry] = isKnown ? [updateOrder, replaceJourneyEntry] : [insertOrder, insertJourneyEntry]
  await writeOrder(trx, ctx.shop.id, {
    orderId,
    commissionId,
    orderAt: order.orderAt,
    orderName,
    orderCurrency: order.currency,
    goodsCents: goodsOf(order).base,
    facts: serializeFacts(facts),
    decision: JSON.stringify(decision),
    createdAt,
    updatedAt: createdAt,
  })
  await writeEntry(trx, ctx.shop.id, {
    ...NO_TOUCH_COLUMNS,
    id: ctx.newId('jrn'),
    type: 'conversion',
    occurredAt: order.orderAt,
    sessionId: order.sessionId,
    affiliateId: decision.attribution.affiliateId,
    programId: decision.programId,
    clickId: order.clickId,
    ref: order.ref,
    customerId: order.customerId,
    customerEmail: order.customerEmail,
    customerEmailKey: order.customerEmail && emailKey(order.customerEmail),
    country: order.shipping?.country ?? null,
    externalOrderId: order.externalOrderId,
    orderId,
    commissionId,
    createdAt,
  })
}

const NO_TOUCH_COLUMNS = {
  url: null,
  landingPage: null,
  referrerUrl: null,
  utmSource: null,
  utmMedium: null,
  utmCampaign: null,
  utmTerm: null,
  utmContent: null,
  device: null,
}

/** A customer bound by one identifier is not bound to another affiliate by another identifier. */
const hasNoConnection = ({ matches }: Facts) => matches.customerId === null && matches.customerEmail === null
