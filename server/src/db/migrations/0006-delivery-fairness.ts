import { type Kysely, sql } from 'kysely'

/** What waits is looked at by shop first: one with many subscriptions must not hide those of the others. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index "deliveries_shopId_subscriptionId_id" on deliveries ("shopId", "subscriptionId", id)
    where "status" = 'PENDING'`.execute(db)
  await sql`drop index "deliveries_subscriptionId_id"`.execute(db)
}
