import type { Trx } from '../db/database.ts'
import type { UserRow } from '../db/tables.ts'

export async function insertUser(trx: Trx, row: UserRow): Promise<void> {
  await trx.insertInto('users').values(row).execute()
}
