import type { Reader, Transaction } from '../../database/database.ts'
import { forEachInSlices } from '../../database/event-loop.ts'
import type { CommissionRow, OrderRow, RefundRow } from '../../database/tables.ts'
import { totalAmount } from '../../engine/commission.ts'
import type { Decision, Facts } from '../../engine/facts.ts'
import { canceledRefundOf, cancellationIdOf } from '../../engine/normalize.ts'
import { addRefund, NO_REFUNDS, type Refund, type RefundedGoods, type RefundSnapshot } from '../../engine/refund.ts'
import { parseFacts } from '../../engine/stored-facts.ts'
import { findRefund, findRefundTotals, listRefundIds, upsertRefundTotals } from '../ledger/commissions.ts'

/**
 * The goods refunded so far for a commission's order. Undefined before the first refund. Reads stored totals, so the
 * cost does not depend on the number of refunds.
 */
export async function findRefundedGoods(
  db: Reader,
  shopId: string,
  commissionId: string,
  snapshot: RefundSnapshot,
): Promise<RefundedGoods | undefined> {
  const row = await findRefundTotals(db, shopId, commissionId)
  // There are no totals before the first refund, and stored totals are invalid after an upgrade.
  return row?.totals ? JSON.parse(row.totals) : recomputeRefundedGoods(db, shopId, commissionId, { snapshot })
}

/**
 * Like {@link findRefundedGoods}, but computed from every refund that counts, except one. A new decision may split the
 * order differently, and a canceled refund may have left nothing for others.
 */
export async function recomputeRefundedGoods(
  db: Reader,
  shopId: string,
  commissionId: string,
  { snapshot, withoutId }: { snapshot: RefundSnapshot; withoutId?: string },
): Promise<RefundedGoods | undefined> {
  const ids = await listRefundIds(db, shopId, commissionId)
  if (ids.length === 0) return undefined
  const known = new Set(ids)
  const counted = ids.filter(
    (id) => canceledRefundOf(id) === undefined && !known.has(cancellationIdOf(id)) && id !== withoutId,
  )
  let refunded = NO_REFUNDS
  // Parsed one at a time, because refunds with many line items take a while.
  await forEachInSlices(db, counted, async (id) => {
    const row = await findRefund(db, shopId, commissionId, [id])
    if (row) refunded = addRefund(snapshot, refunded, toEngineRefund(row))
  })
  return refunded
}

/** Stores the running totals for the next refund. */
export const storeRefundedGoods = (
  trx: Transaction,
  shopId: string,
  commissionId: string,
  { refunded, refundedCents, statusBefore }: StoredRefundedGoods,
): Promise<void> =>
  upsertRefundTotals(trx, shopId, {
    commissionId,
    goodsCents: refundedCents,
    totals: JSON.stringify(refunded),
    statusBefore,
  })

interface StoredRefundedGoods {
  refunded: RefundedGoods
  refundedCents: number
  statusBefore: CommissionRow['orderStatus'] | null
}

/** Converts a stored refund to the engine's format. */
const toEngineRefund = ({ externalRefundId, amountCents, lineItems }: RefundRow): Refund => ({
  refundId: externalRefundId,
  amountCents,
  lineItems: JSON.parse(lineItems),
})

/** Converts the recorded order to the form that refunds are computed from. */
export const readRefundSnapshot = ({ facts, decision }: Pick<OrderRow, 'facts' | 'decision'>): RefundSnapshot =>
  toRefundSnapshot(parseFacts(facts), JSON.parse(decision))

export const toRefundSnapshot = ({ order, settings }: Facts, decision: Decision): RefundSnapshot => ({
  subtotalCents: decision.subtotalCents,
  discountCents: order.discountCents,
  lines: order.lines,
  baseCents: decision.baseCents,
  groups: decision.groups,
  ...(decision.amountCents < totalAmount(decision.groups) && { cappedCents: decision.amountCents }),
  taxWithholdingBps: settings.taxWithholdingBps,
})
