import type { Trx } from '../db/database.ts'

export async function findInstanceSetting(db: Trx, name: string): Promise<string | undefined> {
  const row = await db.selectFrom('instanceSettings').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value
}

export async function upsertInstanceSetting(trx: Trx, name: string, value: string): Promise<void> {
  await trx
    .insertInto('instanceSettings')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}
