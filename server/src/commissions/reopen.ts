import { findConnectedAffiliate } from '../affiliates/connection-queries.ts'
import { findAffiliatesById } from '../affiliates/queries.ts'
import { conflict } from '../contract/errors.ts'
import { type Context, nowIso } from '../core/context.ts'
import type { Transaction } from '../database/access.ts'
import type { CommissionRow } from '../database/tables.ts'
import { decide } from '../engine/decide.ts'
import type { AffiliateFact, Decision, Facts, Order } from '../engine/facts.ts'
import { emailKey } from '../engine/identity.ts'
import { refundTarget } from '../engine/refund.ts'
import { upsertOrder } from '../orders/queries.ts'
import { connectCustomer } from '../orders/record-order.ts'
import { hasStoreNotice } from '../stores/queries.ts'
import { findRecordedOrder } from './commissions.ts'
import { toRefundSnapshot } from './refund-snapshot.ts'
import { recomputeRefundedGoods, storeRefundedGoods } from './refunds.ts'

/**
 * Decides a rejected order again, from what was stored with it and today's statuses of its affiliates: neither a new
 * rate nor new evidence counts. Keeps facts and decision, and answers what the commission becomes.
 *
 * @throws ApiError 409 `commission_still_restricted`, or `commission_move_not_allowed` when nothing is left of the order.
 */
export async function decideAgain(ctx: Context, trx: Transaction, row: CommissionRow): Promise<Partial<CommissionRow>> {
  const order = await findRecordedOrder(ctx, trx, row.orderId)
  const facts = await withCurrentStatuses(ctx, trx, JSON.parse(order.facts))
  const decision = decide(facts)
  if (decision.restrictionReasonCode !== null || decision.attribution.affiliateId === null) {
    throw conflict(
      'commission_still_restricted',
      `This order still earns nothing: ${decision.restrictionReasonCode ?? decision.attribution.reasonCode}.`,
    )
  }
  const snapshot = toRefundSnapshot(facts, decision)
  const refunded = await recomputeRefundedGoods(trx, ctx.shop.id, row.id, snapshot)
  const left = refundTarget(snapshot, refunded)
  const isGone =
    left.fullyRefunded || (await hasStoreNotice(trx, ctx.shop.id, { orderId: row.orderId, kind: 'canceled' }))
  if (isGone) throw conflict('commission_move_not_allowed', 'This order was canceled or refunded in full.')
  const kept = { facts: JSON.stringify(facts), decision: JSON.stringify(decision), updatedAt: nowIso(ctx) }
  await upsertOrder(trx, ctx.shop.id, { ...order, ...kept })
  if (refunded) await storeRefundedGoods(trx, ctx.shop.id, row.id, refunded)
  if (decision.connectsCustomer) await connectIfUnconnected(ctx, trx, facts.order, row)
  return {
    ...decisionColumns(decision, facts.order),
    commissionAmountCents: left.amountCents,
    taxWithheldCents: left.taxWithheldCents,
  }
}

/** What the first decision may have left open, now filled in. */
const decisionColumns = (decision: Decision, { currency }: Order): Partial<CommissionRow> => ({
  currency: decision.currency ?? currency,
  programId: decision.programId,
  commissionType: decision.commissionType,
  commissionRateBps: decision.rateBps,
  commissionBaseCents: decision.baseCents,
  attributionMethod: decision.attribution.method,
  attributionReasonCode: decision.attribution.reasonCode,
  restrictionReasonCode: null,
})

/** A customer whom another order has connected meanwhile stays there. */
async function connectIfUnconnected(ctx: Context, trx: Transaction, order: Order, row: CommissionRow): Promise<void> {
  const { affiliateId, orderId } = row
  const { customerId, customerEmail } = order
  const isKnown =
    (customerId && (await findConnectedAffiliate(trx, ctx.shop.id, 'customerId', customerId))) ||
    (customerEmail && (await findConnectedAffiliate(trx, ctx.shop.id, 'customerEmail', emailKey(customerEmail))))
  if (!isKnown) await connectCustomer(ctx, trx, { order, orderId, affiliateId })
}

async function withCurrentStatuses(ctx: Context, trx: Transaction, facts: Facts): Promise<Facts> {
  const today = new Map(
    (await findAffiliatesById(trx, ctx.shop.id, Object.keys(facts.affiliates))).map((row) => [row.id, row]),
  )
  const refresh = (fact: AffiliateFact): AffiliateFact => {
    const row = today.get(fact.id)
    return row ? { ...fact, status: row.status, archived: row.deletedAt !== null } : fact
  }
  const affiliates = Object.entries(facts.affiliates).map(([id, fact]) => [id, refresh(fact)])
  return { ...facts, affiliates: Object.fromEntries(affiliates) }
}
