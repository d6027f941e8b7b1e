import type { Kysely } from 'kysely'
import { schemaOf } from './0001-start/schema.ts'

/** What a batch left out because its program's terms hold it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const [column, type] of [
    ['onHoldCommissions', 'integer'],
    ['onHoldCents', 'bigint'],
  ] as const)
    await db.schema
      .alterTable('payoutBatches')
      .addColumn(column, type, (builder) => builder.notNull().defaultTo(0))
      .execute()
  await db.schema.alterTable('payoutBatches').addColumn('nextAvailableAt', schemaOf(db).text).execute()
}
