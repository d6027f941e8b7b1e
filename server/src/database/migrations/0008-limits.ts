import { type Kysely, PostgresAdapter, sql } from 'kysely'

/** Lets a key continue the rate-limit window of an earlier key of its shop. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter
  await db.schema
    .alterTable('apiKeys')
    .addColumn('limitSubject', isPostgres ? sql`text collate "C"` : 'text')
    .execute()
}
