import type { Trx } from '../db/database.ts'

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
    .whereRef('open.debtId', '<>', 'open.id')
    .where('open.payoutBatchId', 'is', null)
    .where('open.orderStatus', '=', 'APPROVED')
  await trx
    .updateTable('commissions')
    .set((eb) => ({ orderStatus: 'CANCELED', payoutBatchId: null, updatedAt: at, version: eb('version', '+', 1) }))
    .where('shopId', '=', shopId)
    .where('debtId', 'in', waiting)
    .execute()
}

/** Lets every commission of a batch go: it is approved again, and may be gathered by another batch. Answers how many. */
export async function releaseCommissions(trx: Trx, shopId: string, batchId: string, at: string): Promise<number> {
  const { numUpdatedRows } = await trx
    .updateTable('commissions')
    .set((eb) => ({ orderStatus: 'APPROVED', payoutBatchId: null, updatedAt: at, version: eb('version', '+', 1) }))
    .where('shopId', '=', shopId)
    .where('payoutBatchId', '=', batchId)
    .where('orderStatus', '=', 'PAYABLE')
    .executeTakeFirst()
  return Number(numUpdatedRows)
}
