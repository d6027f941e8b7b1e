import { ApiError } from '../contract/errors.ts'
import type { Context } from '../core/context.ts'
import { runReport } from '../core/report.ts'
import { minimumPayout } from './batch.ts'
import { countApproved, type Subtotal, subtotalsReport } from './queries.ts'

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

/** The approved commissions that are not paid. Without `sums` there are too many commissions to add them up for a page. */
export interface Waiting {
  commissions: number
  sums: WaitingSums[] | null
}

/** More take longer to add up than a page may take. */
const MAX_SUMMED = 20_000
const ALL_TIME = { periodStart: '0001-01-01T00:00:00.000Z', periodEnd: '9999-12-31T23:59:59.999Z' }

export async function readWaiting(ctx: Context): Promise<Waiting> {
  const commissions = await countApproved(ctx.db.read, ctx.shop.id)
  if (commissions === 0 || commissions > MAX_SUMMED) return { commissions, sums: commissions === 0 ? [] : null }
  const read = (isPayable: boolean) =>
    runReport(ctx, subtotalsReport, { shopId: ctx.shop.id, query: { filter: ALL_TIME, isPayable } })
  const [payable, held] = await Promise.all([read(true), read(false)])
  const currencies = [...new Set([...payable, ...held].map(({ currency }) => currency))].sort()
  return { commissions, sums: currencies.map((currency) => sumsOf(ctx, currency, payable, held)) }
}

function sumsOf(ctx: Context, currency: string, payable: Subtotal[], held: Subtotal[]): WaitingSums {
  const of = (list: Subtotal[]) => list.filter((one) => one.currency === currency)
  const total = (list: Subtotal[], value: (one: Subtotal) => bigint | number) =>
    Number(list.reduce((sum, one) => sum + BigInt(value(one)), 0n))
  const [own, kept] = [of(payable), of(held)]
  return {
    currency,
    commissions: total(own, (one) => one.commissions),
    affiliates: new Set(own.map((one) => one.affiliateId)).size,
    netPayableCents: total(own, (one) => one.commissionAmountCents - one.taxWithheldCents),
    heldBack: {
      commissions: total(kept, (one) => one.commissions),
      commissionCents: total(kept, (one) => one.commissionAmountCents),
    },
    minimumPayoutCents: minimumOf(ctx, currency),
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
