import { type Kysely, PostgresAdapter, sql } from 'kysely'

/** Adds the domains of the only store whose notifications a shop accepts. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const text = db.getExecutor().adapter instanceof PostgresAdapter ? sql`text collate "C"` : sql`text`
  await sql`alter table shops add column "storeDomain" ${text}`.execute(db)
  await sql`alter table shops add column "storeDomainAliases" ${text} not null default '[]'`.execute(db)
}
