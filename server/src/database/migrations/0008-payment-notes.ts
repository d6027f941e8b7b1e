import type { Kysely } from 'kysely'

/** What payees read, so that a file stays the same when the shop's time zone changes. Null in files of earlier versions. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('payoutFiles').addColumn('note', 'text').execute()
}
