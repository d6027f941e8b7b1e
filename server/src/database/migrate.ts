import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, SqliteAdapter, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import * as start from './migrations/0001-start.ts'
import { isSqliteBusy } from './storage-error.ts'

/** In order of their names; a released one is never changed. */
export const migrations: Record<string, Migration> = { '0001-start': start }

/**
 * Brings the schema up to date. Takes a plain Kysely handle, for migrations do not share transactions.
 *
 * @throws Error with a sentence for the operator when the database is of a version that cannot be upgraded.
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
    : run(db))
}

const WAIT_MS = 60_000

/**
 * Kysely's migrator takes turns and a transaction on PostgreSQL only. On SQLite, others wait here for the first to end,
 * outside SQLite, whose own wait would hold up the first when it is of the same process.
 */
async function withWriteLock(db: Kysely<never>, work: (db: Kysely<never>) => Promise<void>): Promise<void> {
  await sql`pragma busy_timeout = 0`.execute(db)
  const until = performance.now() + WAIT_MS
  while (!(await tryBegin(db))) {
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

const tryBegin = (db: Kysely<never>): Promise<boolean> =>
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

/** A table that every version since the first release has, and no earlier one. */
const FIRST_RELEASE_TABLE = 'auditHeads'

/**
 * Why this version cannot use a database, to go after the name of the database; undefined when it can. Migrating would
 * leave the database half old and half new.
 */
export async function findIncompatibility(db: Kysely<never>, list = migrations): Promise<string | undefined> {
  const named = (name: string) =>
    db.getExecutor().adapter instanceof SqliteAdapter
      ? sql<boolean>`exists (select 1 from sqlite_schema where name = ${name})`
      : sql<boolean>`exists (select 1 from pg_tables where schemaname = current_schema() and tablename = ${name})`
  const { rows } = await sql<{ isUsed: unknown }>`select ${named('kysely_migration')} as "isUsed"`.execute(db)
  if (!rows[0]?.isUsed) return undefined
  // In one statement: another process may be migrating.
  const ran = await sql<{
    name: string
    isReleased: unknown
  }>`select name, ${named(FIRST_RELEASE_TABLE)} as "isReleased" from kysely_migration order by name`.execute(db)
  if (ran.rows.some(({ isReleased }) => !isReleased)) {
    return 'was made by a development version before 0.1.0, and cannot be upgraded. Use an empty database.'
  }
  const newer = ran.rows.map(({ name }) => name).filter((name) => !(name in list))
  if (newer.length === 0) return undefined
  return `was made by a newer version (${newer.join(', ')}). Use that version or a later one.`
}

const migrator = (db: Kysely<never>, list: typeof migrations) =>
  new Migrator({ db, provider: { getMigrations: async () => list } })
