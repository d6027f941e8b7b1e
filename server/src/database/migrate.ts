import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, SqliteAdapter, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import * as start from './migrations/0001-start.ts'
import * as canceledRefunds from './migrations/0002-canceled-refunds.ts'
import * as remainingBase from './migrations/0003-remaining-base.ts'
import * as removeUnusedTables from './migrations/0004-remove-unused-tables.ts'
import * as refundedLines from './migrations/0005-refunded-lines.ts'
import * as plainCounts from './migrations/0006-plain-counts.ts'
import * as possibleDuplicates from './migrations/0007-possible-duplicates.ts'
import * as paymentNotes from './migrations/0008-payment-notes.ts'
import * as programTerms from './migrations/0009-program-terms.ts'
import * as stripe from './migrations/0010-stripe.ts'
import * as claimedDeliveries from './migrations/0011-claimed-deliveries.ts'
import * as payoutProcesses from './migrations/0012-payout-processes.ts'
import * as customers from './migrations/0013-customers.ts'
import * as payoutHolds from './migrations/0014-payout-holds.ts'
import * as siteDomains from './migrations/0015-site-domains.ts'
import * as partialCustomerIndexes from './migrations/0016-partial-customer-indexes.ts'
import * as dropJourneyTimeIndex from './migrations/0017-drop-journey-time-index.ts'
import { isSqliteBusy } from './storage-error.ts'

/** Run in the order of their names. A released migration is never changed. */
export const migrations: Record<string, Migration> = {
  '0001-start': start,
  '0002-canceled-refunds': canceledRefunds,
  '0003-remaining-base': remainingBase,
  '0004-remove-unused-tables': removeUnusedTables,
  '0005-refunded-lines': refundedLines,
  '0006-plain-counts': plainCounts,
  '0007-possible-duplicates': possibleDuplicates,
  '0008-payment-notes': paymentNotes,
  '0009-program-terms': programTerms,
  '0010-stripe': stripe,
  '0011-claimed-deliveries': claimedDeliveries,
  '0012-payout-processes': payoutProcesses,
  '0013-customers': customers,
  '0014-payout-holds': payoutHolds,
  '0015-site-domains': siteDomains,
  '0016-partial-customer-indexes': partialCustomerIndexes,
  '0017-drop-journey-time-index': dropJourneyTimeIndex,
}

/**
 * Runs pending migrations.
 *
 * @param db a plain connection: migrations do not take part in the group commit
 * @throws Error with a message for the operator when the version of the database cannot be upgraded.
 */
export async function migrate(db: Kysely<never>, list = migrations): Promise<void> {
  const run = async (on: Kysely<never>) => {
    const reason = await findIncompatibility(on, list)
    if (reason) throw new Error(`The database ${reason}`)
    const { error } = await migrator(on, list).migrateToLatest()
    if (error) throw error
  }
  await (db.getExecutor().adapter instanceof SqliteAdapter
    ? db.connection().execute((on) => withWriteLock(on, run))
    : db.transaction().execute((trx) => withTransactionLock(trx, run)))
}

/** The number that Kysely's migrator locks, so that processes of earlier versions wait as well. */
const LOCK_ID = 3853314791062309107n
const NO_TIMEOUTS = ['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout']

/** Locks within the transaction, because a session does not outlive it with transaction pooling. */
async function withTransactionLock(trx: Kysely<never>, work: (trx: Kysely<never>) => Promise<void>): Promise<void> {
  for (const name of NO_TIMEOUTS) await sql`select set_config(${name}, '0', true)`.execute(trx)
  await sql`select pg_advisory_xact_lock(${LOCK_ID})`.execute(trx)
  await work(trx)
}

const WAIT_MS = 60_000

/**
 * Kysely's migrator locks and uses a transaction on PostgreSQL only. On SQLite, this lock is polled instead of using the
 * busy timeout, which would block the event loop, including a migration in the same process.
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
export async function isMigrated(db: Kysely<never>): Promise<boolean> {
  const known = await migrator(db, migrations).getMigrations()
  return known.every((migration) => migration.executedAt !== undefined)
}

/**
 * Returns why a database cannot be read as it is, as the end of a sentence whose subject is the database; undefined when its
 * schema is current. Changes nothing.
 */
export async function findSchemaProblem(db: Kysely<never>): Promise<string | undefined> {
  const incompatibility = await findIncompatibility(db)
  if (incompatibility) return incompatibility
  const known = await migrator(db, migrations).getMigrations()
  if (known.every(({ executedAt }) => executedAt === undefined))
    return 'is empty. Correct DATABASE_URL or restore a backup.'
  return known.every(({ executedAt }) => executedAt !== undefined)
    ? undefined
    : 'has the schema of an earlier version. Run referral-server migrate first.'
}

/** A table that has existed since the first release, but not in development versions before it. */
const FIRST_RELEASE_TABLE = 'installationSettings'

/**
 * Returns why this version cannot use a database, as the end of a sentence whose subject is the database; undefined when it
 * can. Migrating such a database would leave a mixed schema.
 */
export async function findIncompatibility(db: Kysely<never>, list = migrations): Promise<string | undefined> {
  const named = (name: string) =>
    db.getExecutor().adapter instanceof SqliteAdapter
      ? sql<boolean>`exists (select 1 from sqlite_schema where name = ${name})`
      : sql<boolean>`exists (select 1 from pg_tables where schemaname = current_schema() and tablename = ${name})`
  const { rows } = await sql<{ isUsed: unknown }>`select ${named('kysely_migration')} as "isUsed"`.execute(db)
  if (!rows[0]?.isUsed) return undefined
  // In one statement, because another process may be migrating.
  const ran = await sql<{
    name: string
    isReleased: unknown
  }>`select name, ${named(FIRST_RELEASE_TABLE)} as "isReleased" from kysely_migration order by name`.execute(db)
  if (ran.rows.some(({ isReleased }) => !isReleased)) {
    return 'was created by a development version before 0.1.0 and cannot be upgraded. Use an empty database.'
  }
  const newer = ran.rows.map(({ name }) => name).filter((name) => !(name in list))
  if (newer.length === 0) return undefined
  return `was created by a newer version (${newer.join(', ')}). Use that version or a later one.`
}

const migrator = (db: Kysely<never>, list: typeof migrations) =>
  new Migrator({ db, provider: { getMigrations: async () => list } })
