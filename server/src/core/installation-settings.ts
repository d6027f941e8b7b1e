import type { Reader, Transaction } from '../database/access.ts'

/** The kill switch of the whole API: `on` or `off`. */
export const API_SWITCH = 'apiEnabled'

export async function findInstanceSetting(db: Reader, name: string): Promise<string | undefined> {
  const row = await db.selectFrom('instanceSettings').select('value').where('name', '=', name).executeTakeFirst()
  return row?.value
}

export async function upsertInstanceSetting(trx: Transaction, name: string, value: string): Promise<void> {
  await trx
    .insertInto('instanceSettings')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}
