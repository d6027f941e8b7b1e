import { type Kysely, PostgresAdapter, sql } from 'kysely'

/**
 * What waits is looked at by shop first: one with many subscriptions must not hide those of the others. A stream keeps
 * whose it is and which connection reads it, so that open streams can be counted.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index "deliveries_shopId_subscriptionId_id" on deliveries ("shopId", "subscriptionId", id)
    where "status" = 'PENDING'`.execute(db)
  await sql`drop index "deliveries_subscriptionId_id"`.execute(db)
  const text = db.getExecutor().adapter instanceof PostgresAdapter ? sql`text collate "C"` : sql`text`
  for (const column of ['userId', 'connection', 'connectedUntil'])
    await sql`alter table streams add column ${sql.ref(column)} ${text}`.execute(db)
}
