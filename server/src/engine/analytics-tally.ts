import { exactSum } from './money.ts'

/** What the sums read of a commission; amounts in cents, `happenedAt` ISO 8601 UTC. */
export interface AnalyticsRow {
  affiliateId: string
  happenedAt: string
  orderStatus: string
  trackingMethod: string
  payoutBatchId: string | null
  /** The currency of `commissionAmountCents`. */
  currency: string
  /** The currency of `orderSubtotalCents`. */
  orderCurrency: string
  orderSubtotalCents: number
  commissionAmountCents: number
}

/** Sums of orders; cents. */
export interface Tally {
  orders: number
  revenueCents: number
  commissionCents: number
  approvedCommissionCents: number
  pendingCommissionCents: number
}

const APPROVED = ['APPROVED', 'ACCEPTED', 'PAYABLE', 'PAID']

/** The sum of no orders. */
export const NOTHING: Tally = {
  orders: 0,
  revenueCents: 0,
  commissionCents: 0,
  approvedCommissionCents: 0,
  pendingCommissionCents: 0,
}

/**
 * What a row counts for in one currency: the order in its own currency, the commission in the commission's. Nothing
 * unless it is money that was earned. Adjustments, and paid rows that an adjustment took
 * back, count as commission only: they are no orders, and together they come to what was really paid.
 */
export function tallyOf(row: AnalyticsRow, currency: string): Tally | undefined {
  const { orderStatus } = row
  const commissionCents = row.currency === currency ? row.commissionAmountCents : 0
  const isOrder = row.orderCurrency === currency
  const approved = APPROVED.includes(orderStatus)
  if (row.trackingMethod === 'ADJUSTMENT') return approved ? { ...NOTHING, commissionCents } : undefined
  // Only a row that was paid in a batch is reversed by an adjustment; it stays in its batch.
  if (orderStatus === 'REVERSED') return row.payoutBatchId === null ? undefined : { ...NOTHING, commissionCents }
  if (!approved && orderStatus !== 'PENDING') return undefined
  return {
    orders: isOrder ? 1 : 0,
    revenueCents: isOrder ? row.orderSubtotalCents : 0,
    commissionCents,
    approvedCommissionCents: approved ? commissionCents : 0,
    pendingCommissionCents: approved ? 0 : commissionCents,
  }
}

/** The sum of several tallies; null when it cannot be exact. */
export function addUp(tallies: readonly Tally[]): Tally | null {
  const total = { ...NOTHING }
  for (const name of Object.keys(NOTHING) as (keyof Tally)[]) {
    const sum = exactSum(tallies.map((tally) => tally[name]))
    if (sum === null) return null
    total[name] = sum
  }
  return total
}
