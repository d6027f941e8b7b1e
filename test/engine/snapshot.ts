import { toRefundSnapshot } from '../../server/src/domains/commissions/refunded-goods.ts'
import { decide } from '../../server/src/engine/decide.ts'
import type { Facts } from '../../server/src/engine/facts.ts'
import type { Refund, RefundedGoods, RefundLine } from '../../server/src/engine/refund.ts'
import { applyRefund, type RefundSnapshot, type RefundTarget, refundTarget } from '../../server/src/engine/refund.ts'

/** What is recorded of a decision and read again by a refund. */
export function snapshotOf(facts: Facts): RefundSnapshot {
  return toRefundSnapshot(facts, decide(facts))
}

/** A refund by amount; null: all that is left. */
export function amount(amountCents: number | null): Refund {
  return { refundId: 'r', amountCents }
}

/** A refund of pieces, by what they are worth unless an amount is given. */
export function items(lineItems: RefundLine[], amountCents: number | null = null): Refund {
  return { refundId: 'r', amountCents, lineItems }
}

/** Applies refunds in order, each to the stored totals of the earlier ones. */
export function totalsAfter(snapshot: RefundSnapshot, refunds: readonly Refund[]): RefundedGoods | undefined {
  let totals: RefundedGoods | undefined
  for (const refund of refunds) totals = JSON.parse(JSON.stringify(applyRefund(snapshot, totals, refund).refunded))
  return totals
}

/** What a commission comes to after these refunds. */
export const targetAfter = (snapshot: RefundSnapshot, refunds: readonly Refund[]): RefundTarget =>
  refundTarget(snapshot, totalsAfter(snapshot, refunds))

/** What the next refund covers, or why it exceeds the remainder. */
export function checkNext(snapshot: RefundSnapshot, earlier: readonly Refund[], next: Refund) {
  const { before, after, problem } = applyRefund(snapshot, totalsAfter(snapshot, earlier), next)
  if (problem) return { ok: false as const, reason: problem, leftCents: before.leftCents }
  return {
    ok: true as const,
    amountCents: after.refundedCents - before.refundedCents,
    leftCents: after.leftCents,
  }
}
