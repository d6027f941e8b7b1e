import type { Trx } from '../db/database.ts'
import type { RefundRow } from '../db/tables-owner.ts'
import { type RefundSnapshot, totalRefunds } from '../engine/refund.ts'
import type { Refund, RefundedGoods } from '../engine/refund-goods.ts'
import { findRefundTotals, listRefunds, upsertRefundTotals } from '../repositories/refunds.ts'

/**
 * What refunds have taken from a commission's order so far, at a cost that does not depend on how many there are;
 * undefined before the first one.
 */
export async function findRefunded(
  trx: Trx,
  shopId: string,
  commissionId: string,
  snapshot: RefundSnapshot,
): Promise<RefundedGoods | undefined> {
  const row = await findRefundTotals(trx, shopId, commissionId)
  // Before the first refund, and for refunds that were recorded before totals were stored.
  if (!row) return recountRefunded(trx, shopId, commissionId, snapshot)
  return {
    cents: row.goodsCents,
    pieces: JSON.parse(row.pieces),
    pointed: JSON.parse(row.pointed),
    everything: row.everything === 1,
  }
}

/** The same, computed from every recorded refund: for a new decision, which may divide the order into other parts. */
export async function recountRefunded(
  trx: Trx,
  shopId: string,
  commissionId: string,
  snapshot: RefundSnapshot,
): Promise<RefundedGoods | undefined> {
  const rows = await listRefunds(trx, shopId, commissionId)
  return rows.length > 0 ? totalRefunds(snapshot, rows.map(toRefund)) : undefined
}

/** Stores the running totals for the next refund. */
export const storeRefunded = (trx: Trx, shopId: string, commissionId: string, refunded: RefundedGoods): Promise<void> =>
  upsertRefundTotals(trx, {
    shopId,
    commissionId,
    goodsCents: refunded.cents,
    pieces: JSON.stringify(refunded.pieces),
    pointed: JSON.stringify(refunded.pointed),
    everything: refunded.everything ? 1 : 0,
  })

/** A stored refund as the engine reads it. */
const toRefund = ({ externalRefundId, amountCents, lineItems }: RefundRow): Refund => ({
  refundId: externalRefundId,
  amountCents,
  lineItems: JSON.parse(lineItems),
})
