import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import SQLite from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import type { Database, DatabaseObserver, InSnapshot, ReportReader } from './database.ts'
import { isMigrated, migrate } from './migrate.ts'
import { ReportWorkers } from './report-worker.ts'
import { createSqliteKysely } from './sqlite-executor.ts'
import { createSqliteGroupCommit } from './sqlite-group-commit.ts'
import { isSqliteBusy, isStorageError } from './storage-error.ts'
import type { Tables } from './tables.ts'

/** One connection writes and another reads, so that a reader never sees uncommitted rows. */
export function openSqlite(path: string, { onGroup = () => {}, onRead }: DatabaseObserver): Database {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // Created before SQLite opens it, readable by its owner only; its WAL files inherit the mode.
  closeSync(openSync(path, 'a', 0o600))
  const writer = connect(path)
  // From here on, the group commit waits for locks itself, because SQLite's own wait would block the event loop.
  writer.pragma('busy_timeout = 0')
  writer.pragma(`analysis_limit = ${ANALYSIS_LIMIT}`)
  const reader = connectReadOnly(path)
  const { db: read } = createSqliteKysely<Tables>(reader, onRead)
  const { db: trx, executor } = createSqliteKysely<Tables>(writer)
  const reports = new ReportWorkers(`file:${path}`)
  const commits = createSqliteGroupCommit({ database: writer, trx, executor, onGroup })
  const truncateWal = async (): Promise<boolean> => {
    await commits.idle()
    return isCheckpointed(writer)
  }
  return {
    read,
    transact: commits.transact,
    runReport: (...request) => reports.run(...request),
    startReports: () => reports.start(),
    migrate: () => withSqliteConnection(path, migrate),
    isMigrated: () => isMigrated(read),
    findDamage: async () => findDamage(reader),
    optimize: () => commits.transact(async () => void writer.pragma('optimize')),
    overwriteDeleted: async () => {
      for (let attempt = 0; attempt < CHECKPOINT_ATTEMPTS && !(await truncateWal()); attempt++)
        await sleep(CHECKPOINT_PAUSE_MS)
    },
    connections: () => [],
    close: async () => {
      await commits.idle()
      await reports.close()
      reader.close()
      writer.close()
    },
  }
}

/** How many entries of each index are sampled for statistics, so that collecting them takes milliseconds. */
export const ANALYSIS_LIMIT = 400
/** How long a statement waits for a lock. After a crash, the first one waits for WAL recovery. */
const BUSY_TIMEOUT_MS = 5000

/** How often a checkpoint is attempted while other connections read. */
const CHECKPOINT_ATTEMPTS = 50
const CHECKPOINT_PAUSE_MS = 20

/** Moves the whole WAL, which contains earlier versions of pages, into the database file. */
function isCheckpointed(connection: SQLite.Database): boolean {
  try {
    return connection.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) === 0
  } catch (error) {
    if (isSqliteBusy(error)) return false
    throw error
  }
}

/** Durability is set per connection: SQLite defaults to NORMAL when a WAL database is opened again. */
function connect(path: string) {
  const connection = new SQLite(path, { timeout: BUSY_TIMEOUT_MS })
  try {
    connection.pragma('journal_mode = WAL')
  } catch (error) {
    if (!isStorageError(error) || error.code !== 'SQLITE_NOTADB') throw error
    throw new Error(`${path} is not an intact database. Restore a backup.`, { cause: error })
  }
  connection.pragma('synchronous = FULL')
  connection.pragma('foreign_keys = on')
  // Overwrites free space, so that an erased person is not left in it.
  connection.pragma('secure_delete = on')
  // Statement journals in a file would double the time of an insert with a trigger.
  connection.pragma('temp_store = memory')
  return connection
}

function connectReadOnly(path: string): SQLite.Database {
  const connection = connect(path)
  connection.pragma('query_only = on')
  return connection
}

export function openSqliteReader(path: string): ReportReader {
  const connection = connectReadOnly(path)
  const { db } = createSqliteKysely<Tables>(connection)
  // A deferred transaction reads the database as of its first read until it ends.
  const inSnapshot: InSnapshot = async (work) => {
    connection.exec('begin')
    try {
      return await work(db)
    } finally {
      connection.exec('rollback')
    }
  }
  return { db, inSnapshot }
}

function findDamage(connection: SQLite.Database): string[] {
  const rows = connection.pragma('integrity_check(20)', { simple: false }) as { integrity_check: string }[]
  return rows.map((row) => row.integrity_check).filter((line) => line !== 'ok')
}

/** Runs `work` with its own plain connection. */
export async function withSqliteConnection<Schema, T>(
  path: string,
  work: (db: Kysely<Schema>) => Promise<T>,
): Promise<T> {
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: connect(path) }) })
  try {
    return await work(db)
  } finally {
    await db.destroy()
  }
}
