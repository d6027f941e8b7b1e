import type { Kysely } from 'kysely'
import { schemaOf } from './0001-start/schema.ts'

/** The host names of a shop's pages. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('shops')
    .addColumn('siteDomains', schemaOf(db).text, (column) => column.notNull().defaultTo('[]'))
    .execute()
}
