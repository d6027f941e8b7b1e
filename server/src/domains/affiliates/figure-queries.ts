import { sql } from 'kysely'
import { joinSumParts, sumPartsOf } from '../../core/queries.ts'
import type { Reader } from '../../database/database.ts'
import { isSqlite } from '../../database/event-loop.ts'

/** An affiliate's totals in one currency, in cents. They may exceed safe integers. */
export interface CurrencySums {
  currency: string
  revenueCents: bigint
  commissionCents: bigint
  paidCents: bigint
}

/** All-time traffic and earnings of an affiliate, or of a program's affiliates. */
export interface AffiliateFigures {
  clicks: number
  orders: number
  /** In no particular order. */
  sums: CurrencySums[]
}

/** What counts as an order and as earned, as in analytics. A reversed commission has an adjustment. */
const ORDERS = ['PENDING', 'APPROVED', 'ACCEPTED', 'PAYABLE', 'PAID']
const EARNED = [...ORDERS, 'REVERSED']

type SumColumn = 'orders' | 'goodsCents' | 'commissionCents'

/** A stored sum, or 0 for a status that does not count. */
const counted = (column: SumColumn) => {
  const statuses = (column === 'commissionCents' ? EARNED : ORDERS).map((status) => sql.lit(status))
  return sql<number>`(case when status in (${sql.join(statuses)}) then ${sql.ref(column)} else 0 end)`
}

/** Affiliates' figures by ID, read from the stored counts and totals. Each affiliate has an entry. */
export const findFigures = (db: Reader, shopId: string, ids: string[]): Promise<Map<string, AffiliateFigures>> =>
  readFigures(db, shopId, { ids, by: 'scope' })

/** Programs' figures by ID, without clicks, which belong to no program. */
export const findProgramFigures = (db: Reader, shopId: string, ids: string[]): Promise<Map<string, AffiliateFigures>> =>
  readFigures(db, shopId, { ids, by: 'programId' })

async function readFigures(
  db: Reader,
  shopId: string,
  { ids, by }: { ids: string[]; by: 'scope' | 'programId' },
): Promise<Map<string, AffiliateFigures>> {
  const figures = new Map(ids.map((id): [string, AffiliateFigures] => [id, { clicks: 0, orders: 0, sums: [] }]))
  const isOne = isSqlite(db)
    ? sql<boolean>`${sql.ref(by)} in (select value from json_each(${JSON.stringify(ids)}))`
    : sql<boolean>`${sql.ref(by)} = any(${ids}::text[])`
  const [revenue, commission, paid] = [
    sumPartsOf(counted('goodsCents')),
    sumPartsOf(counted('commissionCents')),
    sumPartsOf(sql.ref('paidCents')),
  ]
  const sums = db
    .selectFrom('rowCounts')
    .select(['list', `${by} as id`, 'currency', 'orderCurrency'])
    .select(sql<number>`cast(sum(rows) as bigint)`.as('rows'))
    .select(sql<number>`cast(sum(${counted('orders')}) as bigint)`.as('orders'))
    .select([revenue.high.as('revenueHigh'), revenue.low.as('revenueLow')])
    .select([commission.high.as('commissionHigh'), commission.low.as('commissionLow')])
    .select([paid.high.as('paidHigh'), paid.low.as('paidLow')])
    .where('shopId', '=', shopId)
    .where(isOne)
    .groupBy(['list', by, 'currency', 'orderCurrency'])
  const rows = await (by === 'scope'
    ? sums.where('list', 'in', ['clicks', 'commissions'])
    : sums.where('list', '=', 'commissions').where('scope', '=', '')
  ).execute()
  for (const row of rows) {
    const affiliateFigures = figures.get(row.id)
    if (!affiliateFigures) continue
    if (row.list === 'clicks') {
      affiliateFigures.clicks += row.rows
      continue
    }
    affiliateFigures.orders += row.orders
    const sumsOf = (currency: string): CurrencySums => {
      const known = affiliateFigures.sums.find((sums) => sums.currency === currency)
      if (known) return known
      const sums = { currency, revenueCents: 0n, commissionCents: 0n, paidCents: 0n }
      affiliateFigures.sums.push(sums)
      return sums
    }
    sumsOf(row.orderCurrency).revenueCents += joinSumParts(row.revenueHigh, row.revenueLow)
    const currencySums = sumsOf(row.currency)
    currencySums.commissionCents += joinSumParts(row.commissionHigh, row.commissionLow)
    currencySums.paidCents += joinSumParts(row.paidHigh, row.paidLow)
  }
  for (const affiliateFigures of figures.values())
    affiliateFigures.sums = affiliateFigures.sums.filter(
      (sums) => sums.revenueCents || sums.commissionCents || sums.paidCents,
    )
  return figures
}

/** The sort keys for affiliates. */
export type AffiliateOrder = 'clicks' | 'orders' | 'revenue' | 'commission' | 'joined' | 'name'

/**
 * The number that affiliates are sorted by. Amounts are in one currency, because currencies are never added together.
 */
export function figureOf(db: Reader, shopId: string, by: AffiliateOrder, currency: string) {
  const amount = (column: SumColumn, of: 'currency' | 'orderCurrency') =>
    sql<number>`case when ${sql.ref(of)} = ${currency} then ${counted(column)} else 0 end`
  const value =
    by === 'clicks'
      ? sql.ref<number>('rows')
      : by === 'orders'
        ? counted('orders')
        : by === 'revenue'
          ? amount('goodsCents', 'orderCurrency')
          : amount('commissionCents', 'currency')
  return db
    .selectFrom('rowCounts')
    .select(['scope', sql<number>`sum(${value})`.as('value')])
    .where('shopId', '=', shopId)
    .where('list', '=', by === 'clicks' ? 'clicks' : 'commissions')
    .groupBy('scope')
}
