import type { Context } from '../../core/context.ts'
import { nowIso } from '../../core/context.ts'
import { readFrom } from '../../core/lists.ts'
import { type Page, toPage } from '../../core/pagination.ts'
import { localDate, monthPeriod } from '../../core/time-zone.ts'
import { defineReport } from '../../database/database.ts'
import { toSafeNumber } from '../../engine/money.ts'
import { refundedAt, refundNet } from './statement-lines.ts'
import {
  findFirstInstant,
  listRefundsOf,
  type SlotSum,
  type StatementRefund,
  sumEarnedBySlot,
  sumPaidBySlot,
} from './statement-queries.ts'
import { balanceTooLarge } from './statements.ts'

/** A month with its statement's totals, by currency. */
export interface StatementMonth {
  /** `YYYY-MM` in the shop's time zone. */
  month: string
  currencies: MonthSums[]
}

interface MonthSums {
  currency: string
  openingCents: number
  /** Orders, refunds and adjustments. */
  earnedCents: number
  /** Zero or more. */
  paidCents: number
  closingCents: number
}

/**
 * The months for which an affiliate has a statement, newest first, from the first order to the current month. The
 * totals equal the statements'.
 *
 * @throws ApiError 409 `total_too_large`.
 */
export async function listMonths(
  ctx: Context,
  affiliateId: string,
  page: { page: number; limit: number },
): Promise<Page<StatementMonth>> {
  const { id: shopId, timeZone } = ctx.shop
  const first = await findFirstInstant(ctx.db.read, { shopId, affiliateId })
  const all = first === undefined ? [] : monthsOf(localDate(first, timeZone), localDate(nowIso(ctx), timeZone))
  const end = all.length - (page.page - 1) * page.limit
  const months = all.slice(Math.max(0, end - page.limit), Math.max(0, end))
  if (months.length === 0) return toPage([], page, all.length)
  const bounds = [...months, nextOf(months.at(-1)!)].map((month) => monthPeriod(month, timeZone).from)
  const sums = await readFrom(ctx, statementMonthsReport, { affiliateId, bounds })
  if (sums === null) throw balanceTooLarge()
  const data = months.map((month, index) => ({ month, currencies: sums[index] ?? [] }))
  return toPage(data.reverse(), page, all.length)
}

/** The months from one day to another, oldest first. */
function monthsOf(first: string, last: string): string[] {
  const months: string[] = []
  for (let month = first.slice(0, 7); month <= last.slice(0, 7); month = nextOf(month)) months.push(month)
  return months
}

const nextOf = (month: string): string => {
  const [year = 0, number = 1] = month.split('-').map(Number)
  return number === 12
    ? `${String(year + 1).padStart(4, '0')}-01`
    : `${month.slice(0, 5)}${String(number + 1).padStart(2, '0')}`
}

interface MonthsRequest {
  affiliateId: string
  /** The first instants of consecutive months, ascending, and the end of the last month. */
  bounds: string[]
}

/** Each month's totals. Null if one exceeds the largest exact integer. */
export const statementMonthsReport = defineReport(
  import.meta.url,
  'statementMonthsReport',
  async (
    _db,
    { shopId, query }: { shopId: string; query: MonthsRequest },
    inSnapshot,
  ): Promise<MonthSums[][] | null> => {
    const { bounds, affiliateId } = query
    const account = { shopId, affiliateId }
    const rows = await inSnapshot(async (snapshot) => ({
      earned: await sumEarnedBySlot(snapshot, account, bounds),
      paid: await sumPaidBySlot(snapshot, account, bounds),
      refunds: await listRefundsOf(snapshot, { ...account, periodStart: bounds[0] ?? '' }),
    }))
    const earned = [...rows.earned, ...refundShifts(rows.refunds, bounds)]
    const currencies = [...new Set([...earned, ...rows.paid].map(({ currency }) => currency))].sort()
    const all = bounds.slice(1).map((): MonthSums[] => [])
    for (const currency of currencies) {
      const ofSlot = (list: SlotSum[], slot: number) =>
        list.reduce(
          (sum, slotSum) => (slotSum.slot === slot && slotSum.currency === currency ? sum + slotSum.netCents : sum),
          0n,
        )
      let balance = ofSlot(earned, 0) - ofSlot(rows.paid, 0)
      for (const [index, list] of all.entries()) {
        const [got, paid] = [ofSlot(earned, index + 1), ofSlot(rows.paid, index + 1)]
        const sums = [balance, got, paid, balance + got - paid].map(toSafeNumber)
        balance += got - paid
        if (sums.includes(null)) return null
        const [openingCents = 0, earnedCents = 0, paidCents = 0, closingCents = 0] = sums as number[]
        if (openingCents || earnedCents || paidCents || closingCents)
          list.push({ currency, openingCents, earnedCents, paidCents, closingCents })
      }
    }
    return all
  },
  { isShared: true },
)

/** The stored amounts include refunds at the order's time. A refund counts when it occurred. */
const refundShifts = (refunds: StatementRefund[], bounds: string[]): SlotSum[] =>
  refunds.flatMap((refund) => {
    const slotOf = (at: string) => bounds.filter((bound) => at >= bound).length
    const netCents = BigInt(refundNet(refund))
    const { currency } = refund
    return [
      { currency, slot: slotOf(refund.happenedAt), netCents: -netCents },
      { currency, slot: slotOf(refundedAt(refund)), netCents },
    ]
  })
