import { type Kysely, sql } from 'kysely'
import { required, schemaOf } from './0001-start/schema.ts'

/** Program terms by version, and what they decided about a commission. Version 1 has no row. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const { text } = schemaOf(db)
  await db.schema
    .createTable('programTerms')
    .addColumn('shopId', text, required)
    .addColumn('programId', text, required)
    .addColumn('version', 'integer', required)
    .addColumn('holdDays', 'integer', required)
    .addColumn('appliesTo', text, required)
    .addColumn('commissionType', text, required)
    .addColumn('currency', text, required)
    .addColumn('hasAmounts', 'integer', required)
    .addColumn('rules', text, required)
    .addColumn('createdAt', text, required)
    .addPrimaryKeyConstraint('programTerms_pk', ['shopId', 'programId', 'version'])
    .execute()
  await db.schema
    .alterTable('programs')
    .addColumn('termsVersion', 'integer', (column) => column.notNull().defaultTo(1))
    .execute()
  await db.schema.alterTable('commissions').addColumn('termsVersion', 'integer').execute()
  await db.schema.alterTable('commissions').addColumn('termsRule', 'integer').execute()
  await db.schema
    .alterTable('commissions')
    .addColumn('availableAt', text, (column) => column.notNull().defaultTo(''))
    .execute()
  await sql`update commissions set "availableAt" = "happenedAt"`.execute(db)
}
