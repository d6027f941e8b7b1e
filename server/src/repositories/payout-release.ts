import type { Trx } from '../db/database.ts'
import type { CommissionRow } from '../db/tables.ts'

/** The rows of a batch that lift an affiliate's line to zero, each with the open debt that it stands against, if that still waits. */
export interface CarriedPair {
  balancingId: string
  openId: string
}

const carried = (db: Trx, shopId: string) =>
  db
    .selectFrom('commissions')
    .selectAll()
    .where('shopId', '=', shopId)
    .where('trackingMethod', '=', 'ADJUSTMENT')
    .where('orderId', 'like', 'adj:%:carry')

/** The debts that a batch carried on: both sides, as long as no other batch has taken the open one. */
export async function listCarried(
  db: Trx,
  shopId: string,
  batch: { id: string; periodEnd: string },
): Promise<CarriedPair[]> {
  const balancing = await carried(db, shopId).where('payoutBatchId', '=', batch.id).orderBy('id').execute()
  const pairs: CarriedPair[] = []
  const taken: string[] = []
  for (const row of balancing) {
    const open = await openSideOf(db, shopId, row, taken)
    if (!open) continue
    taken.push(open.id)
    pairs.push({ balancingId: row.id, openId: open.id })
  }
  return pairs
}

async function openSideOf(
  db: Trx,
  shopId: string,
  row: CommissionRow,
  taken: string[],
): Promise<CommissionRow | undefined> {
  const candidates = await carried(db, shopId)
    .where('payoutBatchId', 'is', null)
    .where('orderStatus', '=', 'APPROVED')
    .where('affiliateId', '=', row.affiliateId)
    .where('currency', '=', row.currency)
    .where('commissionAmountCents', '=', -row.commissionAmountCents)
    .where('happenedAt', '>=', row.happenedAt)
    .orderBy('happenedAt')
    .orderBy('id')
    .execute()
  return candidates.find(({ id }) => !taken.includes(id))
}

/** Puts an end to both sides of carried debts, which add up to nothing. */
export async function cancelCarried(trx: Trx, shopId: string, pairs: CarriedPair[], at: string): Promise<void> {
  for (const { balancingId, openId } of pairs) {
    await trx
      .updateTable('commissions')
      .set((eb) => ({ orderStatus: 'CANCELED', payoutBatchId: null, updatedAt: at, version: eb('version', '+', 1) }))
      .where('shopId', '=', shopId)
      .where('id', 'in', [balancingId, openId])
      .execute()
  }
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
