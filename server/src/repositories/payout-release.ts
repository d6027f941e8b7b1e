import type { Trx } from '../db/database.ts'
import { type Condition, inOne, ofBatch } from './commission-parts.ts'
import { updateCommissions } from './commission-slices.ts'
import { unindexed } from './of-shop.ts'

/**
 * Cancels both rows of each debt that a batch carried on, which add up to nothing. A debt that another batch has
 * collected stays as it is.
 */
export async function cancelCarriedDebts(trx: Trx, shopId: string, batchId: string, at: string): Promise<void> {
  const waiting = trx
    .selectFrom('commissions as balancing')
    .innerJoin('commissions as open', (join) =>
      join.onRef('open.shopId', '=', 'balancing.shopId').onRef('open.debtId', '=', 'balancing.debtId'),
    )
    .select('balancing.debtId')
    .where('balancing.shopId', '=', shopId)
    .where('balancing.payoutBatchId', '=', batchId)
    .whereRef('balancing.debtId', '=', 'balancing.id')
    // The index of debts holds these only.
    .where('balancing.debtId', 'is not', null)
    .where('open.debtId', 'is not', null)
    .whereRef('open.debtId', '<>', 'open.id')
    .where('open.payoutBatchId', 'is', null)
    // Found by the debt: a shop has many approved commissions.
    .where(unindexed(trx, 'open.orderStatus'), '=', 'APPROVED')
  const changes = { orderStatus: 'CANCELED', payoutBatchId: null, updatedAt: at } as const
  const isDebt: Condition = (eb) => eb('debtId', 'in', waiting)
  await updateCommissions(trx, shopId, { range: inOne(isDebt), condition: isDebt }, changes)
}

/** Releases every commission of a batch: it is approved again, and another batch may take it. Returns how many. */
export const releaseCommissions = (trx: Trx, shopId: string, batchId: string, at: string): Promise<number> => {
  const changes = { orderStatus: 'APPROVED', payoutBatchId: null, updatedAt: at } as const
  const condition: Condition = (eb) => eb('orderStatus', '=', 'PAYABLE')
  return updateCommissions(trx, shopId, { range: ofBatch(batchId), condition }, changes)
}
