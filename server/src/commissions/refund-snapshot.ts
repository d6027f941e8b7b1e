import type { OrderRow } from '../database/tables.ts'
import type { Decision, Facts } from '../engine/facts.ts'
import type { RefundSnapshot } from '../engine/refund.ts'

/** What was recorded with an order, as refunds are computed from it. */
export const readRefundSnapshot = ({ facts, decision }: Pick<OrderRow, 'facts' | 'decision'>): RefundSnapshot =>
  toRefundSnapshot(JSON.parse(facts), JSON.parse(decision))

export const toRefundSnapshot = ({ order, settings }: Facts, decision: Decision): RefundSnapshot => ({
  subtotalCents: decision.subtotalCents,
  discountCents: order.discountCents,
  lines: order.lines,
  baseCents: decision.baseCents,
  groups: decision.groups,
  taxWithholdingBps: settings.taxWithholdingBps,
})
