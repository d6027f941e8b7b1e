import type { Kysely } from 'kysely'

/** The refunded value of each line of an order. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('refundTotals').addColumn('lineCents', 'text').execute()
}
