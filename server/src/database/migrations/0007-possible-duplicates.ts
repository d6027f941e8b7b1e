import { type Kysely, sql } from 'kysely'

/** The overview lists the few that await approval. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('commissions_possible_duplicates')
    .on('commissions')
    .columns(['shopId', 'happenedAt desc', 'id desc'])
    .where(sql.ref('orderStatus'), '=', sql.lit('PENDING'))
    .where(sql.ref('restrictionReasonCode'), '=', sql.lit('POSSIBLE_DUPLICATE'))
    .execute()
}
