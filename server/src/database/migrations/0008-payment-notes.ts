import type { Kysely } from 'kysely'

/**
 * The remittance text for payees, so that a file stays the same if the shop's time zone changes. Null in earlier
 * versions' files.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('payoutFiles').addColumn('note', 'text').execute()
}
