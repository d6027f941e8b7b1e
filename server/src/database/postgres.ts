import { type CompiledQuery, Kysely, PostgresAdapter, PostgresDialect } from 'kysely'
import type pg from 'pg'
import type { Database, DatabaseObserver, Reader, ReportReader } from './database.ts'
import { isMigrated, migrate } from './migrate.ts'
import { createPostgresKysely, run, type Send } from './postgres-executor.ts'
import { PostgresGroupCommit } from './postgres-group-commit.ts'
import { openPool, type PostgresPool, planByKey, poolSize, poolState, toStorageError } from './postgres-pool.ts'
import { ReportWorkers } from './report-worker.ts'
import { StorageError } from './storage-error.ts'
import type { Tables } from './tables.ts'

const READ_TIMEOUT_MS = 30_000
const WRITE_TIMEOUT_MS = 10_000
const LOCK_TIMEOUT_MS = 5000
const CONNECTIONS = 16

/** Separate pools for reads and writes, so that slow reads never block orders. */
export function openPostgres(url: string, observer: DatabaseObserver): Database {
  const { onGroup = () => {}, onRead } = observer
  const size = poolSize(url, CONNECTIONS)
  const writers = Math.ceil(size / 2)
  const readers = Math.max(1, size - writers)
  const reading = openReadPool(url, readers)
  const reports = new ReportWorkers(url)
  const writing = openPool(url, {
    max: writers,
    statementTimeoutMs: WRITE_TIMEOUT_MS,
    lockTimeoutMs: LOCK_TIMEOUT_MS,
    pipeline: true,
    // An acknowledged write is on disk, whatever the database's default.
    setupSql: (scope) =>
      `${planByKey(scope)};
      select set_config('synchronous_commit', 'on', ${scope === 'transaction'}) where current_setting('synchronous_commit') = 'off'`,
  })
  const commits = new PostgresGroupCommit(writing, { onGroup, ask: (text, values) => reading.query(text, values) })
  const send = timed(readFrom(reading), onRead)
  return {
    read: createPostgresKysely<Tables>(send),
    runReport: (...request) => reports.run(...request),
    startReports: () => reports.start(),
    transact: (work, shopId) => commits.transact(work, shopId),
    migrate: async () => {
      await checkConnection(writing)
      await withPostgresConnection(url, migrate)
    },
    isMigrated: () => withPostgresConnection(url, isMigrated),
    // PostgreSQL has no quick integrity check; it offers data checksums and pg_amcheck.
    findDamage: async () => [],
    // Autovacuum keeps the statistics current.
    optimize: async () => {},
    overwriteDeleted: async () => {},
    connections: () => [poolState('read', reading), poolState('write', writing)],
    close: async () => {
      await commits.idle()
      await reports.close()
      await Promise.all([reading.end(), writing.end()])
    },
  }
}

const READ_ONLY_SQL = { session: 'set default_transaction_read_only = on', transaction: 'set transaction read only' }

/**
 * Settings for lists, which read pages in index order. A bitmap scan would read every version of a row count that a
 * long read transaction keeps.
 */
const openReadPool = (url: string, max: number) =>
  openPool(url, {
    max,
    statementTimeoutMs: READ_TIMEOUT_MS,
    setupSql: (scope) =>
      `${READ_ONLY_SQL[scope]}; select set_config('enable_bitmapscan', 'off', ${scope === 'transaction'})`,
  })

/**
 * Settings for reports, which read many rows. One report at a time uses one processor and leaves the others to
 * requests.
 */
const openReportPool = (url: string) =>
  openPool(url, {
    max: 1,
    statementTimeoutMs: READ_TIMEOUT_MS,
    setupSql: (scope) =>
      `${READ_ONLY_SQL[scope]}; select set_config('max_parallel_workers_per_gather', '0', ${scope === 'transaction'})`,
  })

const readFrom =
  (pool: pg.Pool): Send =>
  <R>(query: CompiledQuery) =>
    run<R>(pool, query).catch((error: StorageError) =>
      // Not prepared: after a migration, every connection has statements whose columns have changed.
      retryRead(error, () => run<R>(pool, query, { isPrepared: false })),
    )

function timed(send: Send, onRead: DatabaseObserver['onRead']): Send {
  if (!onRead) return send
  return async <R>(query: CompiledQuery) => {
    const startedAt = performance.now()
    try {
      return await send<R>(query)
    } finally {
      onRead((performance.now() - startedAt) / 1000)
    }
  }
}

export function openPostgresReader(url: string): ReportReader {
  const pool = openReportPool(url)
  return {
    db: createPostgresKysely<Tables>(readFrom(pool)),
    inSnapshot: (work) =>
      readSnapshot(pool, work).catch((error) => {
        if (error instanceof StorageError) return retryRead(error, () => readSnapshot(pool, work))
        throw error
      }),
  }
}

async function readSnapshot<T>(pool: PostgresPool, work: (db: Reader) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch(rethrowStorageError)
  let isDone = false
  try {
    await client.query(`${pool.beginSql}; set transaction isolation level repeatable read`).catch(rethrowStorageError)
    const result = await work(createPostgresKysely<Tables>((query) => run(client, query)))
    await client.query('commit').catch(rethrowStorageError)
    isDone = true
    return result
  } finally {
    // Closed after an error, which also ends the transaction.
    client.release(!isDone)
  }
}

function rethrowStorageError(error: unknown): never {
  throw toStorageError(error)
}

/** Runs before anything else. @throws Error with a message for the operator. */
async function checkConnection(pool: pg.Pool): Promise<void> {
  try {
    await pool.query('select 1')
  } catch (cause) {
    const { message, code } = cause as Error & { code?: string }
    throw new Error(`Cannot connect to PostgreSQL: ${message || code}.`, { cause })
  }
}

const READ_ONLY = '25006'

/** Retries a read once if its connection was lost, for example one that was idle during a restart. */
function retryRead<T>(error: StorageError, again: () => Promise<T>): Promise<T> {
  if (error.code === READ_ONLY) throw new Error('Writing is only possible inside transact', { cause: error })
  if (error.isLost) return again()
  throw error
}

/** Kysely locks migrations in the session, which transaction pooling does not keep. `migrate` has its own lock. */
class PlainDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    const withoutLock = { acquireMigrationLock: async () => {}, releaseMigrationLock: async () => {} }
    return Object.assign(new PostgresAdapter(), withoutLock)
  }
}

/** Runs `work` with its own plain connection. */
export async function withPostgresConnection<Schema, T>(
  url: string,
  work: (db: Kysely<Schema>) => Promise<T>,
): Promise<T> {
  // Migrations and copies of large tables may take long, so there are no timeouts.
  const pool = openPool(url, { max: 1, statementTimeoutMs: 0, idleInTransactionTimeoutMs: 0 })
  const db = new Kysely<Schema>({ dialect: new PlainDialect({ pool }) })
  try {
    return await work(db)
  } finally {
    await db.destroy()
  }
}
