import { type Expression, SqliteAdapter, sql } from 'kysely'
import type { Reader } from '../database/database.ts'
import { isSqlite } from '../database/event-loop.ts'
import { preparedByShape } from '../database/prepared.ts'
import type { RowCountRow } from '../database/tables.ts'

/**
 * Excludes a text column of a condition from index selection on SQLite, because the index of another condition finds fewer
 * rows. Without statistics SQLite chooses any index; PostgreSQL has statistics.
 */
export const withoutIndex = (db: Reader, column: string) => {
  const plain = sql.ref<string>(column)
  return db.getExecutor().adapter instanceof SqliteAdapter ? sql<string>`${plain} || ''` : plain
}

/** Matches the rows with one of these ids, with one statement text for any number of ids. */
export const hasId = (db: Reader, ids: string[]) => isOneOf(db, 'id', ids)

/** {@link hasId} for another column. */
export const isOneOf = (db: Reader, column: string, values: string[]) =>
  isSqlite(db)
    ? sql<boolean>`${sql.ref(column)} in (select value from json_each(${JSON.stringify(values)}))`
    : sql<boolean>`${sql.ref(column)} = any(${values}::text[])`

/** The rows of a query as the text of a JSON array: the database writes it faster than rows are converted and written. */
export const jsonRows = (db: Reader, rows: Expression<unknown>, columns: readonly string[]) =>
  isSqlite(db)
    ? sql<string>`(select json_group_array(json_object(${sql.join(
        columns.flatMap((column) => [sql.lit(column), sql.ref(column)]),
      )})) from ${rows})`
    : sql<string>`(select coalesce(json_agg(listed), '[]')::text from ${rows} as listed)`

/** Splits an amount into two parts of at most 27 bits, whose sums are exact for 67 million rows. */
const SUM_PART_BASE = 2 ** 26

/**
 * The sum of a column of cents, in two parts for {@link joinSumParts}. A plain sum above 2^63 fails in the database, and one above 2^53
 * loses cents when it is read.
 */
export const sumParts = (column: 'commissionAmountCents' | 'taxWithheldCents') =>
  sumPartsOf(sql.ref(`commissions.${column}`))

/** The same for an expression. */
export const sumPartsOf = (cents: Expression<unknown>) => {
  const base = sql.lit(SUM_PART_BASE)
  return {
    high: sql<number>`cast(sum(${cents} / ${base}) as bigint)`,
    low: sql<number>`cast(sum(${cents} % ${base}) as bigint)`,
  }
}

export const joinSumParts = (high: number, low: number): bigint => BigInt(high) * BigInt(SUM_PART_BASE) + BigInt(low)

export interface CountFilter {
  list: RowCountRow['list']
  /** The id of an affiliate; all affiliates by default. */
  scope?: string
  programId?: string
  status?: string
}

type CountValues = CountFilter & { shopId: string; scope: string }

/** The query of {@link countRows}. */
export function countQuery(db: Reader, values: CountValues) {
  let counts = db
    .selectFrom('rowCounts')
    .select(sql<number>`cast(coalesce(sum(rows), 0) as bigint)`.as('total'))
    .where('shopId', '=', values.shopId)
    .where('list', '=', values.list)
    .where('scope', '=', values.scope)
  if (values.programId) counts = counts.where('programId', '=', values.programId)
  if (values.status) counts = counts.where('status', '=', values.status)
  return counts
}

const findCount = preparedByShape<CountValues>()((db, values) => countQuery(db, values).compile())

/** The exact number of matching rows of a list, read from the stored counts. */
export async function countRows(db: Reader, shopId: string, filter: CountFilter): Promise<number> {
  return (await findCount(db, { ...filter, scope: filter.scope ?? '', shopId }))[0]?.total ?? 0
}

const findCounts = preparedByShape<CountValues>()((db, values) =>
  countQuery(db, values).select('status').groupBy('status').compile(),
)

/** The exact number of matching rows by status, read from the stored counts. */
export async function countByStatus(db: Reader, shopId: string, filter: CountFilter): Promise<Map<string, number>> {
  const counts = await findCounts(db, { ...filter, scope: filter.scope ?? '', shopId })
  return new Map(counts.map(({ status, total }) => [status, total]))
}

/** The number of commissions in a status and their sum in cents by currency, read from the stored counts. */
export async function sumByCurrency(
  db: Reader,
  shopId: string,
  status: string,
): Promise<{ currency: string; rows: number; cents: bigint }[]> {
  const { high, low } = sumPartsOf(sql.ref('commissionCents'))
  const sums = await countQuery(db, { shopId, list: 'commissions', scope: '', status })
    .select(['currency', high.as('high'), low.as('low')])
    .groupBy('currency')
    .orderBy('currency')
    .execute()
  return sums
    .filter(({ total }) => total > 0)
    .map((sum) => ({ currency: sum.currency, rows: sum.total, cents: joinSumParts(sum.high, sum.low) }))
}

interface Days {
  shopId: string
  programId?: string
  status?: string
  /** The first day, as `day:YYYY-MM-DD`. */
  from: string
  /** The day after the last. */
  before: string
}

/** The number of commissions on each day of a period, latest day first. */
export const countByDay = preparedByShape<Days>()((db, values) => {
  let days = db
    .selectFrom('rowCounts')
    .select(sql<string>`substr(scope, 5)`.as('day'))
    .select(sql<number>`cast(sum(rows) as bigint)`.as('rows'))
    .where('shopId', '=', values.shopId)
    .where('list', '=', 'commissions')
    .where('scope', '>=', values.from)
    .where('scope', '<', values.before)
  if (values.programId) days = days.where('programId', '=', values.programId)
  if (values.status) days = days.where('status', '=', values.status)
  return days.groupBy('scope').orderBy('scope', 'desc').compile()
})
