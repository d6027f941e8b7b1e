import type { Kysely } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import * as start from './migrations/0001-start.ts'
import * as rowCounts from './migrations/0002-row-counts.ts'

/** In order of their names; a released one is never changed. */
export const migrations: Record<string, Migration> = { '0001-start': start, '0002-row-counts': rowCounts }

/** Brings the schema up to date. Takes a plain Kysely handle, for migrations do not share transactions. */
export async function migrate(db: Kysely<never>, list = migrations): Promise<void> {
  const { error } = await migrator(db, list).migrateToLatest()
  if (error) throw error
}

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
