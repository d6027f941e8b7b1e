import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, SqliteAdapter, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import * as start from './migrations/0001-start.ts'
import * as rowCounts from './migrations/0002-row-counts.ts'
import * as clickLookups from './migrations/0003-click-lookups.ts'
import * as storeDomains from './migrations/0004-store-domains.ts'
import * as refundTotals from './migrations/0005-refund-totals.ts'
import * as deliveryFairness from './migrations/0006-delivery-fairness.ts'
import * as limits from './migrations/0008-limits.ts'
import * as identityKeys from './migrations/0009-identity-keys.ts'
import * as orderCurrency from './migrations/0010-order-currency.ts'
import { isSqliteBusy } from './storage-error.ts'

/** In order of their names; a released one is never changed. */
export const migrations: Record<string, Migration> = {
  '0001-start': start,
  '0002-row-counts': rowCounts,
  '0003-click-lookups': clickLookups,
  '0004-store-domains': storeDomains,
  '0005-refund-totals': refundTotals,
  '0006-delivery-fairness': deliveryFairness,
  '0008-limits': limits,
  '0009-identity-keys': identityKeys,
  '0010-order-currency': orderCurrency,
}

/** Brings the schema up to date. Takes a plain Kysely handle, for migrations do not share transactions. */
export async function migrate(db: Kysely<never>, list = migrations): Promise<void> {
  const run = async (on: Kysely<never>) => {
    const { error } = await migrator(on, list).migrateToLatest()
    if (error) throw error
  }
  await (db.getExecutor().adapter instanceof SqliteAdapter ? db.connection().execute((on) => alone(on, run)) : run(db))
}

const WAIT_MS = 60_000

/**
 * Kysely's migrator takes turns and a transaction on PostgreSQL only. On SQLite, others wait here for the first to end,
 * outside SQLite, whose own wait would hold up the first when it is of the same process.
 */
async function alone(db: Kysely<never>, work: (db: Kysely<never>) => Promise<void>): Promise<void> {
  await sql`pragma busy_timeout = 0`.execute(db)
  const until = performance.now() + WAIT_MS
  while (!(await begins(db))) {
    if (performance.now() > until) throw new Error('Another process has been writing for a minute; try again.')
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

const begins = (db: Kysely<never>): Promise<boolean> =>
  sql`begin immediate`.execute(db).then(
    () => true,
    (error) => {
      if (!isSqliteBusy(error)) throw error
      return false
    },
  )

/** Whether every migration this version knows has run. */
export async function isMigrated(db: Kysely<never>): Promise<boolean> {
  const known = await migrator(db, migrations).getMigrations()
  return known.every((migration) => migration.executedAt !== undefined)
}

/** The migrations that ran and this version does not know: a newer one made them. */
export async function findUnknownMigrations(db: Kysely<never>): Promise<string[]> {
  const ran = db as unknown as Kysely<{ kysely_migration: { name: string } }>
  const rows = await ran.selectFrom('kysely_migration').select('name').orderBy('name').execute()
  return rows.map(({ name }) => name).filter((name) => !(name in migrations))
}

const migrator = (db: Kysely<never>, list: typeof migrations) =>
  new Migrator({ db, provider: { getMigrations: async () => list } })
