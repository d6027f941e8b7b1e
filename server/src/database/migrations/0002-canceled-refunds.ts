import { type Kysely, sql } from 'kysely'
import { schemaOf } from './0001-start/schema.ts'

/** When refunds took place, and the status that a commission returns to when its full refund is canceled. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { text } = schemaOf(db)
  await db.schema
    .alterTable('refunds')
    .addColumn('occurredAt', text, (column) => column.notNull().defaultTo(''))
    .execute()
  await sql`update refunds set "occurredAt" = "createdAt"`.execute(db)
  await db.schema.alterTable('refundTotals').addColumn('statusBefore', text).execute()
}
