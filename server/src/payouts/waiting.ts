import { ApiError } from '../contract/errors.ts'
import type { Context } from '../core/context.ts'
import { runReport } from '../core/report.ts'
import { defineReport } from '../database/database.ts'
import { minimumPayout } from './batch.ts'
import { countApproved, listUnpaidAffiliates, type Subtotal, sumVisible } from './queries.ts'

/** Approved commissions in one currency that are in no batch. */
export interface WaitingSums {
  currency: string
  commissions: number
  affiliates: number
  /** What a batch would pay now, after tax. */
  netPayableCents: number
  /** Of archived and rejected affiliates, which no batch pays. */
  heldBack: { commissions: number; commissionCents: number }
  /** The smallest total of a batch; null while two settings of it differ. */
  minimumPayoutCents: number | null
}

const ALL_TIME = { periodStart: '0001-01-01T00:00:00.000Z', periodEnd: '9999-12-31T23:59:59.999Z' }

/** Reads every approved commission. The affiliates are many, and only sums are copied between threads. */
export const waitingReport = defineReport(
  import.meta.url,
  'waitingReport',
  async (db, { shopId }: { shopId: string }): Promise<Omit<WaitingSums, 'minimumPayoutCents'>[]> => {
    const unpaid = new Set(await listUnpaidAffiliates(db, shopId))
    const rows = Map.groupBy(await sumVisible(db, shopId, ALL_TIME), ({ currency }) => currency)
    return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([currency, own]) => sumsOf(currency, own, unpaid))
  },
  { isLong: true },
)

/** How many approved commissions there are, in an open batch or in none. */
export const countWaiting = ({ db, shop }: Context): Promise<number> => countApproved(db.read, shop.id)

/** The approved commissions that are in no batch, by currency. */
export async function readWaiting(ctx: Context): Promise<WaitingSums[]> {
  const sums = await runReport(ctx, waitingReport, { shopId: ctx.shop.id })
  return sums.map((one) => ({ ...one, minimumPayoutCents: minimumOf(ctx, one.currency) }))
}

function sumsOf(currency: string, rows: Subtotal[], unpaid: Set<string>): Omit<WaitingSums, 'minimumPayoutCents'> {
  const total = (list: Subtotal[], value: (one: Subtotal) => bigint | number) =>
    Number(list.reduce((sum, one) => sum + BigInt(value(one)), 0n))
  const { own = [], kept = [] } = Object.groupBy(rows, ({ affiliateId }) => (unpaid.has(affiliateId) ? 'kept' : 'own'))
  return {
    currency,
    commissions: total(own, (one) => one.commissions),
    affiliates: new Set(own.map((one) => one.affiliateId)).size,
    netPayableCents: total(own, (one) => one.commissionAmountCents - one.taxWithheldCents),
    heldBack: {
      commissions: total(kept, (one) => one.commissions),
      commissionCents: total(kept, (one) => one.commissionAmountCents),
    },
  }
}

function minimumOf(ctx: Context, currency: string): number | null {
  try {
    return minimumPayout(ctx, currency)
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}
