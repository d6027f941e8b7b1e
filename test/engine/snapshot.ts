import { decide } from '../../server/src/engine/decide.ts'
import type { Facts } from '../../server/src/engine/facts.ts'
import type { RefundSnapshot } from '../../server/src/engine/refund.ts'
import type { Refund, RefundLine } from '../../server/src/engine/refund-goods.ts'

/** What is recorded of a decision and read again by a refund. */
export function snapshotOf(facts: Facts): RefundSnapshot {
  const { subtotalCents, baseCents, groups } = decide(facts)
  const { discountCents, lines } = facts.order
  return { subtotalCents, discountCents, lines, baseCents, groups, taxWithholdingBps: facts.settings.taxWithholdingBps }
}

/** A refund by amount; null: all that is left. */
export function amount(amountCents: number | null): Refund {
  return { refundId: 'r', amountCents }
}

/** A refund of pieces, by what they are worth unless an amount is given. */
export function items(lineItems: RefundLine[], amountCents: number | null = null): Refund {
  return { refundId: 'r', amountCents, lineItems }
}
