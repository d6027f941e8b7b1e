import { countQuery, withoutIndex } from '../../core/queries.ts'
import type { Reader } from '../../database/database.ts'
import { APPROVED, BEGINNING, CENTS, TAX, toSubtotals } from '../ledger/batch-commissions.ts'
import { ofPeriod } from '../ledger/commissions.ts'

/** Totals of commissions in unpaid batches by currency, including commissions reversed after their payment was sent. */
export async function sumInOpenBatches(
  db: Reader,
  shopId: string,
): Promise<Map<string, { commissions: number; netPayableCents: number }>> {
  const unpaid = db.selectFrom('payoutBatches').select('id').where('shopId', '=', shopId).where('status', '<>', 'PAID')
  const rows = await db
    .selectFrom('commissions')
    .select(['currency', (eb) => eb.fn.countAll<number>().as('commissions')])
    .select([CENTS.high.as('centsHigh'), CENTS.low.as('centsLow'), TAX.high.as('taxHigh'), TAX.low.as('taxLow')])
    .where('shopId', '=', shopId)
    .where(ofPeriod([...APPROVED, 'REVERSED'], BEGINNING, '9999-12-31T23:59:59.999Z'))
    .where('payoutBatchId', 'in', unpaid)
    .where((eb) => eb.or([eb(withoutIndex(db, 'orderStatus'), '<>', 'REVERSED'), eb('paidAt', 'is', null)]))
    .groupBy('currency')
    .execute()
  return new Map(
    toSubtotals(rows).map(({ currency, commissions, commissionAmountCents, taxWithheldCents }) => [
      currency,
      { commissions, netPayableCents: Number(commissionAmountCents - taxWithheldCents) },
    ]),
  )
}

/** Currencies of approved commissions, in an open batch or in none, read from the stored counts. */
export async function listApprovedCurrencies(db: Reader, shopId: string): Promise<string[]> {
  const counts = await countQuery(db, { shopId, list: 'commissions', scope: '' })
    .select('currency')
    .where('status', 'in', APPROVED)
    .groupBy('currency')
    .orderBy('currency')
    .execute()
  return counts.filter(({ total }) => total > 0).map(({ currency }) => currency)
}
