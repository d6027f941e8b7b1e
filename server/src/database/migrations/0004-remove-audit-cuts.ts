import type { Kysely } from 'kysely'

/** Audits are not archived any more. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropTable('auditCuts').execute()
}
