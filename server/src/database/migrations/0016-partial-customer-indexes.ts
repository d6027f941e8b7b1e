import { type Kysely, sql } from 'kysely'

/** Most customers have no affiliate and no customer ID: the indexes that find customers by one leave them out. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const newestFirst = ['createdAt desc', 'id desc']
  const indexes = {
    shopId_customerId: ['customerId'],
    list_affiliateId: ['affiliateId', ...newestFirst],
    list_programId: ['programId', ...newestFirst],
  }
  for (const [name, columns] of Object.entries(indexes)) {
    await db.schema.dropIndex(`customers_${name}`).execute()
    const index = db.schema
      .createIndex(`customers_${name}`)
      .on('customers')
      .columns(['shopId', ...columns])
    const isUnique = name === 'shopId_customerId'
    await (isUnique ? index.unique() : index).where(sql.ref(columns[0]!), 'is not', null).execute()
  }
}
