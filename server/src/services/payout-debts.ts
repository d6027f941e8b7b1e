import type { Context } from '../context.ts'
import type { Trx } from '../db/database.ts'
import type { CommissionRow } from '../db/tables.ts'
import { type PayoutTotals, payoutTotals } from '../engine/payout.ts'
import { type CarriedDebt, carryDebts, type DebtRow } from '../engine/payout-debt.ts'
import { insertCommissions } from '../repositories/commission-slices.ts'
import type { Subtotal } from '../repositories/payout-commissions.ts'
import { adjustmentRow } from './adjustments.ts'

/** What a batch comes to once nobody's line is below zero. Cents. */
export interface Settled {
  totals: PayoutTotals
  debts: (CarriedDebt & { programId: string | null })[]
}

/**
 * Computes a batch from the sums of its rows, all of one currency: affiliates who owe are lifted to zero. Null when a
 * sum cannot be exact.
 */
export function settle(rows: readonly Subtotal[], periodEnd: string): Settled | null {
  const byAffiliate = Map.groupBy(rows, (row) => row.affiliateId)
  const carried = carryDebts(rows, periodEnd)
  const totals = carried && payoutTotals([...rows, ...carried.map((debt) => debt.balancing)])
  if (!totals) return null
  const debts = carried.map((debt) => ({
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
export async function writeDebts(ctx: Context, trx: Trx, batchId: string, debts: Settled['debts']): Promise<void> {
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
