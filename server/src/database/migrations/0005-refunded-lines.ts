import type { Kysely } from 'kysely'

/** Totals of refunds that do not depend on their order. Those of earlier versions are computed again from the refunds. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['pieces', 'pointed', 'everything'])
    await db.schema.alterTable('refundTotals').dropColumn(column).execute()
  await db.schema.alterTable('refundTotals').addColumn('totals', 'text').execute()
}
