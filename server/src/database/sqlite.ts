import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import SQLite from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import type { Database, OnGroupCommit } from './database.ts'
import { isMigrated, migrate } from './migrate.ts'
import { ReportWorker } from './report-worker.ts'
import { createSqliteKysely } from './sqlite-executor.ts'
import { createSqliteGroupCommit } from './sqlite-group-commit.ts'
import type { Tables } from './tables.ts'

/** One connection writes, another reads: a reader never sees an open transaction. */
export function openSqlite(path: string, onGroup: OnGroupCommit): Database {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // Made before SQLite makes it, for the owner alone; the files beside it inherit that.
  closeSync(openSync(path, 'a', 0o600))
  const writer = connect(path)
  // From here on it waits for other processes outside SQLite, which would hold up the whole process.
  writer.pragma('busy_timeout = 0')
  const reader = connectReadOnly(path)
  const { db: trx, executor } = createSqliteKysely<Tables>(writer)
  const reports = new ReportWorker(`file:${path}`)
  const commits = createSqliteGroupCommit({ database: writer, trx, executor, onGroup })
  return {
    read: createSqliteKysely<Tables>(reader).db,
    transact: commits.transact,
    runReport: (report, input, ms) => reports.run(report, input, ms),
    migrate: () => withSqliteConnection(path, migrate),
    isMigrated: () => withSqliteConnection(path, isMigrated),
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
const BUSY_TIMEOUT_MS = 5000

/** Every connection sets its own durability: SQLite falls back to NORMAL when a WAL database is opened again. */
function connect(path: string) {
  const connection = new SQLite(path, { timeout: BUSY_TIMEOUT_MS })
  connection.pragma('journal_mode = WAL')
  connection.pragma('synchronous = FULL')
  connection.pragma('foreign_keys = on')
  // What a statement may have to take back; in a file, it doubles the time of an insert that a trigger follows.
  connection.pragma('temp_store = memory')
  return connection
}

function connectReadOnly(path: string): SQLite.Database {
  const connection = connect(path)
  connection.pragma('query_only = on')
  return connection
}

export const openSqliteReader = (path: string): Kysely<Tables> => createSqliteKysely<Tables>(connectReadOnly(path)).db

function findDamage(connection: SQLite.Database): string[] {
  const said = connection.pragma('integrity_check(20)', { simple: false }) as { integrity_check: string }[]
  return said.map((row) => row.integrity_check).filter((line) => line !== 'ok')
}

/** A plain handle on a connection of its own, for what does not share transactions. */
export async function withSqliteConnection<T>(path: string, work: (db: Kysely<never>) => Promise<T>): Promise<T> {
  const db = new Kysely<never>({ dialect: new SqliteDialect({ database: connect(path) }) })
  try {
    return await work(db)
  } finally {
    await db.destroy()
  }
}
