import { type Kysely, sql } from 'kysely'
import { schemaOf } from './0001-start/schema.ts'

/**
 * A batch whose commissions are being moved is itself `PROCESSING`. The earlier version's reservations are released.
 *
 * @throws Error when that version has not completed a batch that exists.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql`select "batchId" from "payoutJobs" where phase not in ('RESERVING', 'UNDOING')`.execute(db)
  if (rows.length > 0)
    throw new Error('A payout batch is not complete. Start the earlier version, wait a minute, and upgrade again.')
  await sql`update commissions set "payoutBatchId" = null where "payoutBatchId" is not null
    and exists (select 1 from "payoutJobs" j where j."shopId" = commissions."shopId" and j."batchId" = "payoutBatchId")`.execute(
    db,
  )
  for (const table of ['payoutJobs', 'reservationChanges']) await db.schema.dropTable(table).execute()
  const { text } = schemaOf(db)
  for (const column of ['process', 'claimedBy', 'claimedUntil'])
    await db.schema.alterTable('payoutBatches').addColumn(column, text).execute()
  await db.schema.alterTable('payoutBatches').addColumn('movedCommissions', 'integer').execute()
  await db.schema.createIndex('payoutBatches_claimedUntil').on('payoutBatches').columns(['claimedUntil']).execute()
}
