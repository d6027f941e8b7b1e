import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, type QueryExecutorProvider, SqliteAdapter, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { isSqliteBusy } from './storage-error.ts'

/** A migration whose file is read when it runs, which most starts do not. */
const loaded = (load: () => Promise<Migration>): Migration => ({ up: async (db) => (await load()).up(db) })

/** Run in the order of their names. A released migration is never changed. */
export const migrations: Record<string, Migration> = {
  '0001-start': loaded(() => import('./migrations/0001-start.ts')),
  '0002-canceled-refunds': loaded(() => import('./migrations/0002-canceled-refunds.ts')),
  '0003-remaining-base': loaded(() => import('./migrations/0003-remaining-base.ts')),
  '0004-remove-unused-tables': loaded(() => import('./migrations/0004-remove-unused-tables.ts')),
  '0005-refunded-lines': loaded(() => import('./migrations/0005-refunded-lines.ts')),
  '0006-plain-counts': loaded(() => import('./migrations/0006-plain-counts.ts')),
  '0007-possible-duplicates': loaded(() => import('./migrations/0007-possible-duplicates.ts')),
  '0008-payment-notes': loaded(() => import('./migrations/0008-payment-notes.ts')),
  '0009-program-terms': loaded(() => import('./migrations/0009-program-terms.ts')),
  '0010-stripe': loaded(() => import('./migrations/0010-stripe.ts')),
  '0011-claimed-deliveries': loaded(() => import('./migrations/0011-claimed-deliveries.ts')),
  '0012-payout-processes': loaded(() => import('./migrations/0012-payout-processes.ts')),
  '0013-customers': loaded(() => import('./migrations/0013-customers.ts')),
  '0014-payout-holds': loaded(() => import('./migrations/0014-payout-holds.ts')),
  '0015-site-domains': loaded(() => import('./migrations/0015-site-domains.ts')),
  '0016-partial-customer-indexes': loaded(() => import('./migrations/0016-partial-customer-indexes.ts')),
  '0017-drop-journey-time-index': loaded(() => import('./migrations/0017-drop-journey-time-index.ts')),
}

/**
 * Runs pending migrations.
 *
 * @param db a plain connection: migrations do not take part in the group commit
 * @throws Error with a message for the operator when the database's version cannot be upgraded.
 */
export async function migrate(db: Kysely<never>, list = migrations): Promise<void> {
  await requireCompatible(db, list)
  if (await isMigrated(db, list)) return
  const { Migrator } = await import('kysely/migration')
  const run = async (on: Kysely<never>) => {
    await requireCompatible(on, list)
    const migrator = new Migrator({ db: on, provider: { getMigrations: async () => list } })
    const { error } = await migrator.migrateToLatest()
    if (error) throw error
  }
  await (db.getExecutor().adapter instanceof SqliteAdapter
    ? db.connection().execute((on) => withWriteLock(on, run))
    : db.transaction().execute((trx) => withTransactionLock(trx, run)))
}

async function requireCompatible(db: QueryExecutorProvider, list: typeof migrations): Promise<void> {
  const reason = await findIncompatibility(db, list)
  if (reason) throw new Error(`The database ${reason}`)
}

/** The number that Kysely's migrator locks, so that processes of earlier versions wait as well. */
const LOCK_ID = 3853314791062309107n
const NO_TIMEOUTS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']

/** Locks within the transaction, because with transaction pooling, a session does not outlive it. */
async function withTransactionLock(trx: Kysely<never>, work: (trx: Kysely<never>) => Promise<void>): Promise<void> {
  for (const name of NO_TIMEOUTS) await sql`select set_config(${name}, '0', true)`.execute(trx)
  await sql`select pg_advisory_xact_lock(${LOCK_ID})`.execute(trx)
  await work(trx)
}

const WAIT_MS = 60_000

/**
 * Kysely's migrator locks and uses a transaction only on PostgreSQL. On SQLite, this lock is polled. The busy timeout
 * would block the event loop, including a migration in the same process.
 */
async function withWriteLock(db: Kysely<never>, work: (db: Kysely<never>) => Promise<void>): Promise<void> {
  await sql`pragma busy_timeout = 0`.execute(db)
  const until = performance.now() + WAIT_MS
  while (!(await tryBegin(db))) {
    if (performance.now() > until)
      throw new Error('The database has been locked by another process for a minute. Try again later.')
    await sleep(20)
  }
  try {
    await work(db)
    await sql`commit`.execute(db)
  } catch (error) {
    await sql`rollback`.execute(db).catch(() => {})
    throw error
  } finally {
    await sql`pragma busy_timeout = 5000`.execute(db)
  }
}

const tryBegin = (db: Kysely<never>): Promise<boolean> =>
  sql`begin immediate`.execute(db).then(
    () => true,
    (error) => {
      if (!isSqliteBusy(error)) throw error
      return false
    },
  )

/** Whether all migrations of this version have run. */
export async function isMigrated(db: QueryExecutorProvider, list = migrations): Promise<boolean> {
  const ran = new Set((await listRan(db)).map(({ name }) => name))
  return Object.keys(list).every((name) => ran.has(name))
}

/**
 * Returns why a database cannot be read as it is, to complete a sentence that starts with the database. Undefined if
 * its schema is current. Changes nothing.
 */
export async function findSchemaProblem(db: QueryExecutorProvider): Promise<string | undefined> {
  const incompatibility = await findIncompatibility(db)
  if (incompatibility) return incompatibility
  if ((await listRan(db)).length === 0) return 'is empty. Correct DATABASE_URL or restore a backup.'
  return (await isMigrated(db)) ? undefined : 'has the schema of an earlier version. Run referral-server migrate first.'
}

/** A table that has existed since the first release, but not in development versions before it. */
const FIRST_RELEASE_TABLE = 'installationSettings'

/**
 * Returns why this version cannot use a database, to complete a sentence that starts with the database. Undefined if it
 * can. Migrating such a database would leave a mixed schema.
 */
export async function findIncompatibility(db: QueryExecutorProvider, list = migrations): Promise<string | undefined> {
  const ran = await listRan(db)
  if (ran.some(({ isReleased }) => !isReleased)) {
    return 'was created by a development version before 0.1.0 and cannot be upgraded. Use an empty database.'
  }
  const newer = ran.map(({ name }) => name).filter((name) => !(name in list))
  if (newer.length === 0) return undefined
  return `was created by a newer version (${newer.join(', ')}). Use that version or a later one.`
}

/** The migrations that have run, and whether a release has created the database; none for an empty one. */
async function listRan(db: QueryExecutorProvider): Promise<{ name: string; isReleased: unknown }[]> {
  const named = (name: string) =>
    db.getExecutor().adapter instanceof SqliteAdapter
      ? sql<boolean>`exists (select 1 from sqlite_schema where name = ${name})`
      : sql<boolean>`exists (select 1 from pg_tables where schemaname = current_schema() and tablename = ${name})`
  const { rows } = await sql<{ isUsed: unknown }>`select ${named('kysely_migration')} as "isUsed"`.execute(db)
  if (!rows[0]?.isUsed) return []
  // In one statement, because another process may be migrating.
  const ran = await sql<{
    name: string
    isReleased: unknown
  }>`select name, ${named(FIRST_RELEASE_TABLE)} as "isReleased" from kysely_migration order by name`.execute(db)
  return ran.rows
}
