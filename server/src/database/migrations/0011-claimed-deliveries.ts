import type { Kysely } from 'kysely'

/** Deliveries are claimed instead of subscriptions, and a subscription knows how many of them may be in flight. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('subscriptions_claimedBy').execute()
  await db.schema.alterTable('subscriptions').dropColumn('claimedBy').execute()
  await db.schema.alterTable('subscriptions').dropColumn('claimedAt').execute()
  await db.schema
    .alterTable('subscriptions')
    .addColumn('maxInFlight', 'integer', (column) => column.notNull().defaultTo(2))
    .execute()
  await db.schema.alterTable('deliveries').addColumn('claimedBy', 'text').execute()
  await db.schema.alterTable('deliveries').addColumn('claimedUntil', 'text').execute()
}
