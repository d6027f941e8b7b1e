import { type RawBuilder, SqliteAdapter, sql } from 'kysely'
import type { Trx } from './database.ts'

/**
 * Names the index that a statement has to use, after the table in its `from`. SQLite plans by averages, or by nothing at
 * all: where one session has half of a shop's clicks, it would rather walk through the whole shop. PostgreSQL has no such
 * clause and needs none, for it knows how unequal values are.
 */
export const indexedBy = (db: Trx, index: string): RawBuilder<unknown> =>
  db.getExecutor().adapter instanceof SqliteAdapter ? sql`indexed by ${sql.ref(index)}` : sql``
