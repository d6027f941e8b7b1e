import type { Kysely } from 'kysely'
import { openSqlite } from './sqlite.ts'
import type { Tables } from './tables.ts'

export type Trx = Kysely<Tables>

/** A database, whichever engine it is. Writing is only possible through `transact`. */
export interface Database {
  /** Committed rows only. */
  read: Kysely<Tables>
  /**
   * Runs `work` in a transaction and answers after it is on disk. Work does no I/O but its own queries, does not nest,
   * and may run more than once.
   */
  transact: <T>(work: (trx: Trx) => Promise<T>) => Promise<T>
  migrate: () => Promise<void>
  isMigrated: () => Promise<boolean>
  close: () => Promise<void>
}

/** Opens `file:<path>` (SQLite). */
export async function openDatabase(url: string): Promise<Database> {
  if (url.startsWith('file:')) return openSqlite(url.slice('file:'.length))
  throw new Error(`DATABASE_URL must start with file:, not with ${url.split(':')[0]}:`)
}
