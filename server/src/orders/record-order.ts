import { insertConnectionIfNew } from '../affiliates/connection-queries.ts'
import { insertCommission } from '../commissions/queries.ts'
import { toCommission } from '../commissions/response.ts'
import { type Context, nowIso } from '../core/context.ts'
import type { Mutation } from '../core/mutate.ts'
import type { Transaction } from '../database/access.ts'
import type { CommissionRow } from '../database/tables.ts'
import { decide } from '../engine/decide.ts'
import type { Decision, Facts, Order } from '../engine/facts.ts'
import { emailKey } from '../engine/identity.ts'
import { hasOtherCreditedOrder, insertJourneyEntry, replaceJourneyEntry } from '../journey/queries.ts'
import { gatherFacts } from './gather-facts.ts'
import { findOrder, upsertOrder } from './queries.ts'

/** An order from any source, on its way to the engine. */
export interface IncomingOrder {
  order: Order
  /** Unique in the shop; the source is its prefix, `api:1001`. */
  orderId: string
  orderName: string | null
  trackingMethod: 'API' | 'STORE_ORDER'
}

export interface RecordedOrder {
  commissionId: string | null
  decision: Decision
  /** The order was recorded before; nothing was changed. */
  alreadyRecorded: boolean
}

/**
 * The one money path: gather facts, decide, write the decision once. An order that is recorded already keeps its first
 * decision; one that nobody was credited for may still be credited by a later report (section 4.9 rule 6).
 * The context's shop must be the row as it is in `trx`.
 */
export async function recordOrder(
  ctx: Context,
  trx: Transaction,
  incoming: IncomingOrder,
): Promise<Mutation<RecordedOrder>> {
  const known = await findOrder(trx, ctx.shop.id, incoming.orderId)
  if (known?.commissionId) {
    return {
      result: { commissionId: known.commissionId, decision: JSON.parse(known.decision), alreadyRecorded: true },
      audit: null,
    }
  }
  const facts = await gatherFacts(trx, ctx.shop, incoming.order)
  const decision = decide(facts)
  const row = decision.status === null ? null : newCommission(ctx, incoming, decision)
  if (row) await insertCommission(trx, ctx.shop.id, row)
  await storeOrder(ctx, trx, { incoming, facts, decision, commissionId: row?.id ?? null, isKnown: known !== undefined })
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
  if (decision.connectsCustomer && hasNoConnection(facts))
    await connectCustomer(ctx, trx, { ...incoming, affiliateId: row.affiliateId })
  const data = { ...toCommission({ ...row, shopId: ctx.shop.id }), attribution: decision.attribution }
  return {
    result,
    audit: {
      action: 'commission.created',
      subjectId: row.id,
      data: { orderId: row.orderId, amountCents: row.commissionAmountCents, status: row.orderStatus },
    },
    events: [{ event: 'commission.created', data }],
  }
}

function newCommission(
  ctx: Context,
  { order, orderId, orderName, trackingMethod }: IncomingOrder,
  decision: Decision,
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
    debtId: null,
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
  /** It was reported before, and nobody was credited. */
  isKnown: boolean
}

/** Facts and decision are kept beside each other, and the order takes its place in the customer's journey. */
async function storeOrder(ctx: Context, trx: Transaction, decided: DecidedOrder): Promise<void> {
  const { incoming, facts, decision, commissionId, isKnown } = decided
  const { order, orderId } = incoming
  const createdAt = nowIso(ctx)
  await upsertOrder(trx, ctx.shop.id, {
    orderId,
    commissionId,
    orderAt: order.orderAt,
    facts: JSON.stringify(facts),
    decision: JSON.stringify(decision),
    createdAt,
    updatedAt: createdAt,
  })
  const keepEntry = isKnown ? replaceJourneyEntry : insertJourneyEntry
  await keepEntry(trx, ctx.shop.id, {
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

/** A customer who is connected by one name is not given to another affiliate by a second name. */
const hasNoConnection = ({ matches }: Facts) => matches.customerId === null && matches.customerEmail === null

interface CreditedOrder {
  order: Order
  orderId: string
  affiliateId: string
}

/** Lifetime commission: the customer's first attributed order decides whose customer it is, and no later one. */
export async function connectCustomer(
  ctx: Context,
  trx: Transaction,
  { order, orderId, affiliateId }: CreditedOrder,
): Promise<void> {
  const { customerId } = order
  const customerEmailKey = order.customerEmail && emailKey(order.customerEmail)
  if (await hasOtherCreditedOrder(trx, ctx.shop.id, { customerId, customerEmailKey, orderId })) return
  const connect = (kind: 'customerId' | 'customerEmail', value: string) =>
    insertConnectionIfNew(trx, ctx.shop.id, { id: ctx.newId('con'), kind, value, affiliateId, createdAt: nowIso(ctx) })
  if (customerId) await connect('customerId', customerId)
  if (customerEmailKey) await connect('customerEmail', customerEmailKey)
}
