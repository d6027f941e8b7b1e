import { SqliteAdapter, sql } from 'kysely'
import type { Trx } from '../db/database.ts'

/**
 * A text column of a condition that SQLite is not to look for an index for, because another condition finds the rows.
 * Without statistics it takes any of them; PostgreSQL knows which leaves the fewest rows.
 */
export const unindexed = (db: Trx, column: string) => {
  const plain = sql.ref<string>(column)
  return db.getExecutor().adapter instanceof SqliteAdapter ? sql<string>`${plain} || ''` : plain
}

/**
 * A condition that no index is looked for: of three ids and more, SQLite would rather walk through all rows of the shop
 * than look each id up.
 */
export const ofShop = (shopId: string) => sql<boolean>`"shopId" || '' = ${shopId}`
