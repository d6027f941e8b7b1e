import type { Context } from '../../core/context.ts'
import { MAX_INLINE_ROWS, type ReadCost, readFrom } from '../../core/lists.ts'
import { countRows } from '../../core/queries.ts'
import { dateOfSlot, slotLength } from '../../core/time-zone.ts'
import { defineReport, type Reader } from '../../database/database.ts'
import { type AnalyticsRow, EMPTY_TALLY, type Tally, tallyOf } from '../../engine/analytics.ts'
import { findAffiliatesById } from '../affiliates/queries.ts'
import { countClicksByDay, hasMoreClicks, sumCommissions } from './queries.ts'

/** One day's totals in one currency. */
export interface OverviewDay extends Tally {
  date: string
  currency: string
}

/** Figures for a period and the one before it, in all currencies. */
export interface Overview {
  days: OverviewDay[]
  clicks: { date: string; clicks: number }[]
  /** The affiliates with the period's highest commissions in the shop's currency. */
  top: { affiliateId: string; name: string; orders: number; revenueCents: number; commissionCents: number }[]
}

/** The cost of reading a period and the one before it, in a shop with this many commissions. */
export const costOfPeriod =
  ({ before, to }: Pick<OverviewRequest, 'before' | 'to'>, commissions: number): ReadCost =>
  async (db, shopId) =>
    commissions > MAX_INLINE_ROWS || hasMoreClicks(db, shopId, { from: before, to }, MAX_INLINE_ROWS)

interface OverviewRequest {
  currency: string
  /** Instants, both inclusive: the start of the period before, the start of the period, and its end. */
  before: string
  from: string
  to: string
  /** The days' time zone. */
  timeZone: string
  /** Limits the figures to one affiliate, without a ranking. Defaults to all. */
  affiliateId?: string
}

const MAX_TOP = 8

/** Reads every commission of both periods, so it runs in the report worker. */
export const overviewReport = defineReport(
  import.meta.url,
  'overviewReport',
  async (db, { shopId, query }: { shopId: string; query: OverviewRequest }): Promise<Overview> => {
    const { currency, before, from, to, timeZone, affiliateId } = query
    const slot = slotLength(before, to, timeZone)
    const dates = new Map<string, string>()
    const dateOf = (name: string): string => {
      const date = dates.get(name) ?? dateOfSlot(name, timeZone)
      dates.set(name, date)
      return date
    }
    const hasFewClicks = affiliateId !== undefined && (await countClicksOf(db, shopId, affiliateId)) <= MAX_INLINE_ROWS
    const both = { from: before, to, hasFewClicks, ...(affiliateId && { affiliateId }) }
    const [days, clicks, affiliates] = await Promise.all([
      sumCommissions(db, shopId, both, { slot }),
      countClicksByDay(db, shopId, both, slot),
      affiliateId ? [] : sumCommissions(db, shopId, { from, to }, 'affiliateId'),
    ])
    return {
      days: byDay(days, dateOf),
      clicks: clicksByDay(clicks, dateOf),
      top: await topOf(db, shopId, affiliates, currency),
    }
  },
  { isLong: true },
)

const countClicksOf = (db: Reader, shopId: string, affiliateId: string): Promise<number> =>
  countRows(db, shopId, { list: 'clicks', scope: affiliateId })

/** Two periods' totals. @throws ApiError when the caller's credential is no longer valid. */
export const readOverview = (ctx: Context, period: Omit<OverviewRequest, 'currency'>): Promise<Overview> =>
  readFrom(ctx, overviewReport, { currency: ctx.shop.currency, ...period })

/** Equal commissions added up: their number, and their total amounts. */
type Sums = Awaited<ReturnType<typeof sumCommissions>>[number]

/** What a group of commissions adds to a currency's totals. */
function tallyOfSums(row: Sums, currency: string): Tally | undefined {
  const analyticsRow: AnalyticsRow = {
    ...row,
    affiliateId: '',
    happenedAt: '',
    payoutBatchId: row.isBatched ? '-' : null,
  }
  const tally = tallyOf(analyticsRow, currency)
  return tally && { ...tally, orders: tally.orders * row.rows }
}

type DateOf = (slot: string) => string

function clicksByDay(rows: Overview['clicks'], dateOf: DateOf): Overview['clicks'] {
  const days = new Map<string, number>()
  for (const { date: slot, clicks } of rows) days.set(dateOf(slot), (days.get(dateOf(slot)) ?? 0) + clicks)
  return [...days].map(([date, clicks]) => ({ date, clicks }))
}

function byDay(rows: Sums[], dateOf: DateOf): OverviewDay[] {
  const days = new Map<string, OverviewDay>()
  for (const row of rows) {
    for (const currency of new Set([row.currency, row.orderCurrency])) {
      const tally = tallyOfSums(row, currency)
      if (!tally) continue
      const date = dateOf(row.name)
      const key = `${date} ${currency}`
      days.set(key, { date, currency, ...add(days.get(key) ?? EMPTY_TALLY, tally) })
    }
  }
  return [...days.values()]
}

/** The sum of two tallies. */
export const add = (a: Tally, b: Tally): Tally => ({
  orders: a.orders + b.orders,
  revenueCents: a.revenueCents + b.revenueCents,
  commissionCents: a.commissionCents + b.commissionCents,
  approvedCommissionCents: a.approvedCommissionCents + b.approvedCommissionCents,
  pendingCommissionCents: a.pendingCommissionCents + b.pendingCommissionCents,
})

async function topOf(db: Reader, shopId: string, rows: Sums[], currency: string): Promise<Overview['top']> {
  const sums = new Map<string, Tally>()
  for (const row of rows) {
    const tally = tallyOfSums(row, currency)
    if (tally) sums.set(row.name, add(sums.get(row.name) ?? EMPTY_TALLY, tally))
  }
  const first = [...sums]
    .toSorted(([idA, a], [idB, b]) => b.commissionCents - a.commissionCents || (idA < idB ? -1 : 1))
    .slice(0, MAX_TOP)
  const people = await findAffiliatesById(
    db,
    shopId,
    first.map(([id]) => id),
  )
  const names = new Map(people.map(({ id, name }) => [id, name]))
  return first.map(([affiliateId, { orders, revenueCents, commissionCents }]) => ({
    affiliateId,
    name: names.get(affiliateId) ?? '',
    orders,
    revenueCents,
    commissionCents,
  }))
}
