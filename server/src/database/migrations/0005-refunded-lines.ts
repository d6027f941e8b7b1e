import type { Kysely } from 'kysely'

/** Refund totals that do not depend on the refunds' order. Earlier versions' totals are recomputed from the refunds. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['pieces', 'pointed', 'everything'])
    await db.schema.alterTable('refundTotals').dropColumn(column).execute()
  await db.schema.alterTable('refundTotals').addColumn('totals', 'text').execute()
}
