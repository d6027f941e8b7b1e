import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import SQLite from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import type { Database, OnGroup } from './database.ts'
import { groupCommit } from './group-commit.ts'
import { isMigrated, migrate } from './migrate.ts'
import { ReportWorker } from './report-worker.ts'
import { kyselyOver } from './sqlite-executor.ts'
import type { Tables } from './tables.ts'

/** One connection writes, another reads: a reader never sees an open transaction. */
export function openSqlite(path: string, onGroup: OnGroup): Database {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // Made before SQLite makes it, for the owner alone; the files beside it inherit that.
  closeSync(openSync(path, 'a', 0o600))
  const writer = connect(path)
  // From here on it waits for other processes outside SQLite, which would hold up the whole process.
  writer.pragma('busy_timeout = 0')
  const reader = connectToRead(path)
  const { db: trx, executor } = kyselyOver<Tables>(writer)
  const reports = new ReportWorker(`file:${path}`)
  const commits = groupCommit({ database: writer, trx, executor, onGroup })
  return {
    read: kyselyOver<Tables>(reader).db,
    transact: commits.transact,
    runReport: (report, input, ms) => reports.run(report, input, ms),
    migrate: () => withStockHandle(path, migrate),
    isMigrated: () => withStockHandle(path, isMigrated),
    findDamage: async () => findDamage(reader),
    close: async () => {
      await commits.idle()
      await reports.close()
      reader.close()
      writer.close()
    },
  }
}

/** How long a statement waits for others; the first one after a crash, until the log has been read again. */
const WAIT_MS = 5000

/** Every connection sets its own durability: SQLite falls back to NORMAL when a WAL database is opened again. */
function connect(path: string) {
  const connection = new SQLite(path, { timeout: WAIT_MS })
  connection.pragma('journal_mode = WAL')
  connection.pragma('synchronous = FULL')
  connection.pragma('foreign_keys = on')
  // What a statement may have to take back; in a file, it doubles the time of an insert that a trigger follows.
  connection.pragma('temp_store = memory')
  return connection
}

function connectToRead(path: string): SQLite.Database {
  const connection = connect(path)
  connection.pragma('query_only = on')
  return connection
}

export const openSqliteReader = (path: string): Kysely<Tables> => kyselyOver<Tables>(connectToRead(path)).db

function findDamage(connection: SQLite.Database): string[] {
  const said = connection.pragma('integrity_check(20)', { simple: false }) as { integrity_check: string }[]
  return said.map((row) => row.integrity_check).filter((line) => line !== 'ok')
}

/** A plain handle on a connection of its own, for what does not share transactions. */
export async function withStockHandle<T>(path: string, work: (db: Kysely<never>) => Promise<T>): Promise<T> {
  const db = new Kysely<never>({ dialect: new SqliteDialect({ database: connect(path) }) })
  try {
    return await work(db)
  } finally {
    await db.destroy()
  }
}
