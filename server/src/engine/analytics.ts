import { exactSum, mulDiv } from './money.ts'

/** The commissions to sum in one currency, and the clicks of the same period and filter. */
export interface AnalyticsFacts {
  /** Both inclusive. */
  from: string
  to: string
  currency: string
  commissions: readonly AnalyticsRow[]
  /** By UTC day, `YYYY-MM-DD`. */
  clicksByDay: readonly { date: string; clicks: number }[]
  /** `affiliateId` is null for clicks on an unknown reference. */
  clicksByAffiliate: readonly { affiliateId: string | null; clicks: number }[]
}

/** One UTC day. */
interface AnalyticsDay extends Tally {
  date: string
  clicks: number
}

/** One of the affiliates with the highest commissions. */
export interface TopAffiliate extends Pick<Tally, 'orders' | 'revenueCents' | 'commissionCents'> {
  affiliateId: string
  clicks: number
  conversionRate: number
}

/** The totals that the analytics endpoint returns. */
interface AnalyticsSums {
  totals: Tally & { clicks: number; activeAffiliates: number; conversionRate: number }
  dailyBreakdown: AnalyticsDay[]
  topAffiliates: TopAffiliate[]
}

const MAX_TOP_AFFILIATES = 10
const DAY_MS = 86_400_000
/** Two years; a longer period lists only days with activity. */
const MAX_FILLED_DAYS = 731

/** Sums commissions and clicks; null when a sum cannot be exact. */
export function summarize(facts: AnalyticsFacts): AnalyticsSums | null {
  const counted = facts.commissions.flatMap((row) => {
    const tally = tallyOf(row, facts.currency)
    return tally ? [{ affiliateId: row.affiliateId, date: row.happenedAt.slice(0, 10), tally }] : []
  })
  const clicks = facts.clicksByDay.reduce((total, day) => total + day.clicks, 0)
  const all = sumTallies(counted.map((order) => order.tally))
  const byDay = talliesBy(counted, (order) => order.date)
  const byAffiliate = talliesBy(counted, (order) => order.affiliateId)
  if (!all || !byDay || !byAffiliate) return null
  const clicked = facts.clicksByAffiliate.map((clicked) => clicked.affiliateId).filter((id) => id !== null)
  const sold = counted.filter((order) => order.tally.orders > 0).map((order) => order.affiliateId)
  const activeAffiliates = new Set([...clicked, ...sold]).size
  return {
    totals: { ...all, clicks, activeAffiliates, conversionRate: conversionRate(all.orders, clicks) },
    dailyBreakdown: dailyBreakdownOf(facts, byDay),
    topAffiliates: topAffiliatesOf(facts, byAffiliate),
  }
}

interface Counted {
  affiliateId: string
  date: string
  tally: Tally
}

function talliesBy(counted: Counted[], key: (order: Counted) => string): Map<string, Tally> | null {
  const sums = new Map<string, Tally>()
  for (const [name, orders] of Map.groupBy(counted, key)) {
    const sum = sumTallies(orders.map((order) => order.tally))
    if (!sum) return null
    sums.set(name, sum)
  }
  return sums
}

function dailyBreakdownOf({ from, to, clicksByDay }: AnalyticsFacts, sums: Map<string, Tally>): AnalyticsDay[] {
  const clicks = new Map(clicksByDay.map((day) => [day.date, day.clicks]))
  const dates = datesOf(from, to) ?? [...new Set([...clicks.keys(), ...sums.keys()])].sort()
  return dates.map((date) => ({ date, clicks: clicks.get(date) ?? 0, ...(sums.get(date) ?? EMPTY_TALLY) }))
}

/** Every UTC day of the period, or undefined when there are too many to fill with zeros. */
function datesOf(from: string, to: string): string[] | undefined {
  const first = Math.floor(Date.parse(from) / DAY_MS)
  const count = Math.floor(Date.parse(to) / DAY_MS) - first + 1
  if (count > MAX_FILLED_DAYS) return undefined
  return Array.from({ length: Math.max(0, count) }, (_, i) => new Date((first + i) * DAY_MS).toISOString().slice(0, 10))
}

/** By commission, highest first, then by revenue, then by id. */
function topAffiliatesOf({ clicksByAffiliate }: AnalyticsFacts, sums: Map<string, Tally>): TopAffiliate[] {
  const clicksOf = new Map(clicksByAffiliate.map((clicked) => [clicked.affiliateId, clicked.clicks]))
  return [...sums]
    .sort(
      ([idA, a], [idB, b]) =>
        b.commissionCents - a.commissionCents || b.revenueCents - a.revenueCents || (idA < idB ? -1 : 1),
    )
    .slice(0, MAX_TOP_AFFILIATES)
    .map(([affiliateId, { orders, revenueCents, commissionCents }]) => {
      const clicks = clicksOf.get(affiliateId) ?? 0
      const rate = conversionRate(orders, clicks)
      return { affiliateId, orders, clicks, revenueCents, commissionCents, conversionRate: rate }
    })
}

/** Orders per click, with four decimals. Capped at 1, since orders may come without a click. */
const conversionRate = (orders: number, clicks: number): number =>
  Math.min(10_000, mulDiv(orders, 10_000, clicks)) / 10_000

/** The fields of a commission that the sums use; amounts in cents, `happenedAt` ISO 8601 UTC. */
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

const APPROVED_STATUSES = ['APPROVED', 'ACCEPTED', 'PAYABLE', 'PAID']

/** The sum of no orders. */
export const EMPTY_TALLY: Tally = {
  orders: 0,
  revenueCents: 0,
  commissionCents: 0,
  approvedCommissionCents: 0,
  pendingCommissionCents: 0,
}

/**
 * Returns what a row adds to the sums of one currency: the order in its own currency, the commission in the commission's.
 * Only earned money counts. Adjustments, and paid rows that an adjustment reversed, count as commission and not as orders,
 * so that together they sum to what was paid.
 */
export function tallyOf(row: AnalyticsRow, currency: string): Tally | undefined {
  const { orderStatus } = row
  const commissionCents = row.currency === currency ? row.commissionAmountCents : 0
  const isOrder = row.orderCurrency === currency
  const approved = APPROVED_STATUSES.includes(orderStatus)
  if (row.trackingMethod === 'ADJUSTMENT') return approved ? { ...EMPTY_TALLY, commissionCents } : undefined
  // Only rows paid in a batch are reversed by an adjustment, and they stay in their batch.
  if (orderStatus === 'REVERSED') return row.payoutBatchId === null ? undefined : { ...EMPTY_TALLY, commissionCents }
  if (!approved && orderStatus !== 'PENDING') return undefined
  return {
    orders: isOrder ? 1 : 0,
    revenueCents: isOrder ? row.orderSubtotalCents : 0,
    commissionCents,
    approvedCommissionCents: approved ? commissionCents : 0,
    pendingCommissionCents: approved ? 0 : commissionCents,
  }
}

/** The sum of several tallies. Null if it cannot be exact. */
function sumTallies(tallies: readonly Tally[]): Tally | null {
  const total = { ...EMPTY_TALLY }
  for (const name of Object.keys(EMPTY_TALLY) as (keyof Tally)[]) {
    const sum = exactSum(tallies.map((tally) => tally[name]))
    if (sum === null) return null
    total[name] = sum
  }
  return total
}
