import type { Kysely } from 'kysely'

/** Audits are not archived any more, and events are polled instead of streamed. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ['auditCuts', 'streamDeliveries', 'streams']) await db.schema.dropTable(table).execute()
}
