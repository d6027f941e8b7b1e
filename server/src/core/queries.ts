import { SqliteAdapter, sql } from 'kysely'
import type { Reader, Transaction } from '../database/access.ts'

/**
 * A text column of a condition that SQLite is not to look for an index for, because another condition finds the rows.
 * Without statistics it takes any of them; PostgreSQL knows which leaves the fewest rows.
 */
export const withoutIndex = (db: Reader, column: string) => {
  const plain = sql.ref<string>(column)
  return db.getExecutor().adapter instanceof SqliteAdapter ? sql<string>`${plain} || ''` : plain
}

/** The tables whose rows count their changes. */
type VersionedTable = 'affiliates' | 'programs' | 'commissions' | 'payoutBatches'

/** Changes a row as long as it is still the version that was read; somebody else's change makes it answer false. */
export async function updateIfUnchanged<Row extends { id: string; version: number }>(
  trx: Transaction,
  table: VersionedTable,
  { shopId, row, changes }: { shopId: string; row: Row; changes: Partial<Row> },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    // The statement is the same for every table; which columns there are is checked by the callers' types.
    .updateTable(table as 'programs')
    .set({ ...changes, version: row.version + 1 })
    .where('shopId', '=', shopId)
    .where('id', '=', row.id)
    .where('version', '=', row.version)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Splits an exact amount into two parts of at most 27 bits, whose sums are exact for 67 million rows. */
const PART_BASE = 2 ** 26

/**
 * The sum of a column of cents, in two parts. A plain sum above 2^63 fails in the database, and above 2^53 it loses
 * cents on its way out.
 */
export const sumParts = (column: 'commissionAmountCents' | 'taxWithheldCents') => {
  const [cents, half] = [sql.ref(`commissions.${column}`), sql.lit(PART_BASE)]
  return {
    high: sql<number>`cast(sum(${cents} / ${half}) as bigint)`,
    low: sql<number>`cast(sum(${cents} % ${half}) as bigint)`,
  }
}

export const wholeSum = (high: number, low: number): bigint => BigInt(high) * BigInt(PART_BASE) + BigInt(low)
