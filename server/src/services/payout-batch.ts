import { type Context, nowIso } from '../context.ts'
import type { Trx } from '../db/database.ts'
import type { PayoutBatchRow } from '../db/tables.ts'
import { concurrentChange, notFound } from '../errors.ts'
import { claimBatch, findBatch } from '../repositories/payout-batches.ts'
import { sumBatch } from '../repositories/payout-commissions.ts'
import { settle, writeDebts } from './payout-debts.ts'

const EMPTIED = 'Every commission left this batch before it was paid.'

export const payoutNotFound = () => notFound('payout_not_found', 'No payout batch with this id exists in your shop.')

/**
 * Brings the totals of an `OPEN` batch in line with its rows, in the transaction that changed a row. Affiliates whose
 * line fell below zero get their debt carried on; a batch without rows is `FAILED`. Any other batch stays as it is:
 * its totals are frozen. Answers the batch as it now is; the audit is the caller's.
 *
 * @throws ApiError 404 `payout_not_found`, 409 `concurrent_change`.
 */
export async function recomputeBatch(trx: Trx, ctx: Context, batchId: string): Promise<PayoutBatchRow> {
  const batch = await findBatch(trx, ctx.shop.id, batchId)
  if (!batch) throw payoutNotFound()
  if (batch.status !== 'OPEN') return batch
  const settled = settle(await sumBatch(trx, ctx.shop.id, batchId), batch.periodEnd)
  // Rows only leave a batch or shrink, and its totals were exact before.
  if (!settled) throw new Error('The totals of a batch are no longer exact')
  const { totals, debts } = settled
  const emptied = totals.commissions === 0 ? ({ status: 'FAILED', failureReason: EMPTIED } as const) : {}
  const changes = { ...totals, ...emptied, updatedAt: nowIso(ctx) }
  if (!(await claimBatch(trx, ctx.shop.id, batch, changes))) throw concurrentChange()
  await writeDebts(ctx, trx, batchId, debts)
  return { ...batch, ...changes, version: batch.version + 1 }
}
