import type { Reader, Transaction } from '../database/database.ts'
import type { CommissionRow, OrderRow, RefundRow } from '../database/tables.ts'
import type { Decision, Facts } from '../engine/facts.ts'
import { canceledRefundOf, cancellationIdOf } from '../engine/normalize.ts'
import { type Refund, type RefundedGoods, type RefundSnapshot, totalRefunds } from '../engine/refund.ts'
import { parseFacts } from '../engine/stored-facts.ts'
import { findRefundTotals, listRefunds, upsertRefundTotals } from './queries.ts'

/**
 * The goods of a commission's order that were refunded so far; undefined before the first refund. Reads stored totals, so
 * the cost does not depend on the number of refunds.
 */
export async function findRefundedGoods(
  db: Reader,
  shopId: string,
  commissionId: string,
  snapshot: RefundSnapshot,
): Promise<RefundedGoods | undefined> {
  const row = await findRefundTotals(db, shopId, commissionId)
  // There are no totals before the first refund.
  if (!row) return recomputeRefundedGoods(db, shopId, commissionId, snapshot)
  return {
    cents: row.goodsCents,
    pieces: JSON.parse(row.pieces),
    pointed: JSON.parse(row.pointed),
    everything: row.everything === 1,
  }
}

/** Like {@link findRefundedGoods}, but computed from every refund: a new decision may split the order differently. */
export async function recomputeRefundedGoods(
  db: Reader,
  shopId: string,
  commissionId: string,
  snapshot: RefundSnapshot,
): Promise<RefundedGoods | undefined> {
  const rows = await listRefunds(db, shopId, commissionId)
  return rows.length > 0 ? totalRefunds(snapshot, withoutCanceled(rows).map(toEngineRefund)) : undefined
}

/** Stores the running totals for the next refund. */
export const storeRefundedGoods = (
  trx: Transaction,
  shopId: string,
  commissionId: string,
  refunded: RefundedGoods,
  statusBefore: CommissionRow['orderStatus'] | null = null,
): Promise<void> =>
  upsertRefundTotals(trx, shopId, {
    commissionId,
    goodsCents: refunded.cents,
    pieces: JSON.stringify(refunded.pieces),
    pointed: JSON.stringify(refunded.pointed),
    everything: refunded.everything ? 1 : 0,
    statusBefore,
  })

/** A stored refund as the engine reads it. */
export const toEngineRefund = ({ externalRefundId, amountCents, lineItems }: RefundRow): Refund => ({
  refundId: externalRefundId,
  amountCents,
  lineItems: JSON.parse(lineItems),
})

/** The recorded order in the form that refunds are computed from. */
export const readRefundSnapshot = ({ facts, decision }: Pick<OrderRow, 'facts' | 'decision'>): RefundSnapshot =>
  toRefundSnapshot(parseFacts(facts), JSON.parse(decision))

export const toRefundSnapshot = ({ order, settings }: Facts, decision: Decision): RefundSnapshot => ({
  subtotalCents: decision.subtotalCents,
  discountCents: order.discountCents,
  lines: order.lines,
  baseCents: decision.baseCents,
  groups: decision.groups,
  taxWithholdingBps: settings.taxWithholdingBps,
})

/** The refunds that count: neither canceled nor entries that cancel one, and without a refund that is being canceled. */
export function withoutCanceled(rows: RefundRow[], refundId?: string): RefundRow[] {
  const ids = new Set(rows.map(({ externalRefundId }) => externalRefundId))
  return rows.filter(
    ({ externalRefundId: id }) =>
      canceledRefundOf(id) === undefined && !ids.has(cancellationIdOf(id)) && id !== refundId,
  )
}
