import { adjustmentRow, insertCommissions } from '../commissions/queries.ts'
import { concurrentChange, notFound } from '../contract/errors.ts'
import { type Context, nowIso } from '../core/context.ts'
import type { Transaction } from '../database/access.ts'
import type { CommissionRow, PayoutBatchRow } from '../database/tables.ts'
import { type CarriedDebt, carryDebts, type DebtRow, type PayoutTotals, payoutTotals } from '../engine/payout.ts'
import { findBatch, type Subtotal, sumBatch, updateBatchIfUnchanged } from './queries.ts'

const EMPTY_BATCH_REASON = 'Every commission left this batch before it was paid.'

export const payoutNotFound = () => notFound('payout_not_found', 'No payout batch with this id exists in your shop.')

/**
 * Brings the totals of an `OPEN` batch in line with its rows, in the transaction that changed a row. Affiliates whose
 * line fell below zero get their debt carried on; a batch without rows is `FAILED`. Any other batch stays as it is:
 * its totals are frozen. Answers the batch as it now is; the audit is the caller's.
 *
 * @throws ApiError 404 `payout_not_found`, 409 `concurrent_change`.
 */
export async function recomputeBatch(trx: Transaction, ctx: Context, batchId: string): Promise<PayoutBatchRow> {
  const batch = await findBatch(trx, ctx.shop.id, batchId)
  if (!batch) throw payoutNotFound()
  if (batch.status !== 'OPEN') return batch
  const settled = computeBatch(await sumBatch(trx, ctx.shop.id, batchId), batch.periodEnd)
  // Rows only leave a batch or shrink, and its totals were exact before.
  if (!settled) throw new Error('The totals of a batch are no longer exact')
  const { totals, debts } = settled
  const emptied = totals.commissions === 0 ? ({ status: 'FAILED', failureReason: EMPTY_BATCH_REASON } as const) : {}
  const changes = { ...totals, ...emptied, updatedAt: nowIso(ctx) }
  if (!(await updateBatchIfUnchanged(trx, ctx.shop.id, batch, changes))) throw concurrentChange()
  await insertDebts(ctx, trx, batchId, debts)
  return { ...batch, ...changes, version: batch.version + 1 }
}

/** What a batch comes to once nobody's line is below zero. Cents. */
export interface ComputedBatch {
  totals: PayoutTotals
  debts: (CarriedDebt & { programId: string | null })[]
}

/**
 * Computes a batch from the sums of its rows, all of one currency: affiliates who owe are lifted to zero. Null when a
 * sum cannot be exact.
 */
export function computeBatch(rows: readonly Subtotal[], periodEnd: string): ComputedBatch | null {
  const byAffiliate = Map.groupBy(rows, (row) => row.affiliateId)
  const carriedDebtRow = carryDebts(rows, periodEnd)
  const totals = carriedDebtRow && payoutTotals([...rows, ...carriedDebtRow.map((debt) => debt.balancing)])
  if (!totals) return null
  const debts = carriedDebtRow.map((debt) => ({
    ...debt,
    programId: onlyProgramOf(byAffiliate.get(debt.affiliateId) ?? []),
  }))
  return { totals, debts }
}

/** A debt that comes from one program stays with it, so that batches of that program collect it. */
function onlyProgramOf(rows: readonly Subtotal[]): string | null {
  const [programId = null, ...others] = new Set(rows.map((row) => row.programId))
  return others.length === 0 ? programId : null
}

/** Writes both rows of each debt: what balances the batch, and what the next batch collects. They add up to zero. */
export async function insertDebts(
  ctx: Context,
  trx: Transaction,
  batchId: string,
  debts: ComputedBatch['debts'],
): Promise<void> {
  const rows = debts.flatMap(({ balancing, open, programId }) => {
    const debtId = ctx.newId('com')
    const inBatch = { orderStatus: 'PAYABLE', payoutBatchId: batchId, programId, debtId } as const
    const waiting = { orderStatus: 'APPROVED', payoutBatchId: null, programId, debtId } as const
    return [
      carried(ctx, balancing, { ...inBatch, id: debtId }),
      carried(ctx, open, { ...waiting, id: ctx.newId('com') }),
    ]
  })
  await insertCommissions(trx, ctx.shop.id, rows)
}

/** A debt belongs to no single order, so each row is named after itself. */
const carried = (
  ctx: Context,
  debt: DebtRow,
  place: Pick<CommissionRow, 'id' | 'orderStatus' | 'payoutBatchId' | 'programId' | 'debtId'>,
): Omit<CommissionRow, 'shopId'> =>
  adjustmentRow(ctx, { ...debt, ...place, orderCurrency: debt.currency, orderId: `adj:${place.id}:carry` })
