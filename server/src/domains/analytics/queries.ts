import { sql } from 'kysely'
import { withoutIndex } from '../../core/queries.ts'
import type { Reader } from '../../database/database.ts'

interface Filter {
  /** Instants, both inclusive. */
  from: string
  to: string
  affiliateId?: string
  /** Whether the affiliate's all-time clicks are few compared with all affiliates' clicks in a period. */
  hasFewClicks?: boolean
  programId?: string
}

function commissions(db: Reader, shopId: string, filter: Filter) {
  let rows = db
    .selectFrom('commissions')
    .where('shopId', '=', shopId)
    .where('happenedAt', '>=', filter.from)
    .where('happenedAt', '<=', filter.to)
  if (filter.affiliateId) rows = rows.where('affiliateId', '=', filter.affiliateId)
  if (filter.programId) rows = rows.where('programId', '=', filter.programId)
  return rows
}

/** The adjustment for a returned payment, which is payable again but was earned only once. */
const RETURNED_PAYMENT = 'adj:pln_%'

/** The newest commissions whose amount or order is in a currency. */
export const listNewestCommissions = (
  db: Reader,
  shopId: string,
  filter: Filter & { currency: string; limit: number },
) =>
  commissions(db, shopId, filter)
    .select(['affiliateId', 'happenedAt', 'orderStatus', 'trackingMethod', 'payoutBatchId'])
    .select(['orderSubtotalCents', 'commissionAmountCents', 'currency', 'orderCurrency'])
    .where((eb) => eb.or([eb('currency', '=', filter.currency), eb('orderCurrency', '=', filter.currency)]))
    .where('orderId', 'not like', RETURNED_PAYMENT)
    .orderBy('happenedAt', 'desc')
    .orderBy('id', 'desc')
    .limit(filter.limit)
    .execute()

/** The currencies of a period's commissions and their orders. */
export async function listCurrencies(db: Reader, shopId: string, filter: Filter): Promise<string[]> {
  const rows = await commissions(db, shopId, filter).select(['currency', 'orderCurrency']).distinct().execute()
  return [...new Set(rows.flatMap((row) => [row.currency, row.orderCurrency]))]
}

function clicks(db: Reader, shopId: string, filter: Filter) {
  let rows = db
    .selectFrom('journey')
    .select((eb) => eb.fn.countAll<number>().as('clicks'))
    .where('shopId', '=', shopId)
    // With the type, SQLite reads the clicks of all affiliates in the period, since no index has the type after the affiliate.
    .where(filter.hasFewClicks ? withoutIndex(db, 'type') : 'type', '=', 'click')
    .where('occurredAt', '>=', filter.from)
    .where('occurredAt', '<=', filter.to)
  if (filter.affiliateId) rows = rows.where('affiliateId', '=', filter.affiliateId)
  if (filter.programId) rows = rows.where('programId', '=', filter.programId)
  return rows
}

/** Whether a period has more clicks than this. Reads that many index entries. */
export async function hasMoreClicks(db: Reader, shopId: string, filter: Filter, rows: number): Promise<boolean> {
  const further = clicks(db, shopId, filter).clearSelect().select('id').orderBy('occurredAt').offset(rows).limit(1)
  return (await further.execute()).length > 0
}

/** Clicks by UTC day, `YYYY-MM-DD`, or by another prefix of the instant. */
export function countClicksByDay(db: Reader, shopId: string, filter: Filter, length = 10) {
  const day = sql<string>`substr("occurredAt", 1, ${sql.lit(length)})`
  return clicks(db, shopId, filter).select(day.as('date')).groupBy(day).execute()
}

export const countClicksByAffiliate = (db: Reader, shopId: string, filter: Filter) =>
  // Grouping by the constant type keeps SQLite from reading every touch of the shop by affiliate.
  clicks(db, shopId, filter).select('affiliateId').groupBy(['type', 'affiliateId']).execute()

/** Totals of a period's commissions, grouped as analytics count them, by a prefix of their instant or by affiliate. */
export function sumCommissions(db: Reader, shopId: string, filter: Filter, by: { slot: number } | 'affiliateId') {
  const name =
    by === 'affiliateId' ? sql.ref<string>('affiliateId') : sql<string>`substr("happenedAt", 1, ${sql.lit(by.slot)})`
  const isBatched = sql<0 | 1>`case when "payoutBatchId" is null then 0 else 1 end`
  return (
    commissions(db, shopId, filter)
      .select([name.as('name'), isBatched.as('isBatched')])
      .select(['orderStatus', 'trackingMethod', 'currency', 'orderCurrency'])
      .select((eb) => eb.fn.countAll<number>().as('rows'))
      .select(sql<number>`cast(sum("orderSubtotalCents") as bigint)`.as('orderSubtotalCents'))
      .select(sql<number>`cast(sum("commissionAmountCents") as bigint)`.as('commissionAmountCents'))
      .where('orderId', 'not like', RETURNED_PAYMENT)
      // The name comes last: with affiliates first, SQLite reads every commission of the shop by affiliate.
      .groupBy(['currency', 'orderCurrency', 'orderStatus', 'trackingMethod', isBatched, name])
      .execute()
  )
}
