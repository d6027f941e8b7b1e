import type { Reader, Transaction } from '../database/access.ts'
import type { UserRow } from '../database/tables.ts'
import { emailKey } from '../engine/identity.ts'

export async function insertUser(trx: Transaction, row: UserRow): Promise<void> {
  await trx.insertInto('users').values(row).execute()
}

export const findUserByToken = (db: Reader, tokenHash: string): Promise<UserRow | undefined> =>
  db.selectFrom('users').selectAll().where('tokenHash', '=', tokenHash).executeTakeFirst()

export const findUser = (db: Reader, shopId: string, id: string): Promise<UserRow | undefined> =>
  db.selectFrom('users').selectAll().where('shopId', '=', shopId).where('id', '=', id).executeTakeFirst()

/** However the address is written; as it was written first. A shop has few users, so their addresses have no key column. */
export async function findUserByEmail(db: Reader, shopId: string, email: string): Promise<UserRow | undefined> {
  const users = await db.selectFrom('users').selectAll().where('shopId', '=', shopId).orderBy('id').execute()
  const key = emailKey(email)
  return users.find((user) => user.email === email) ?? users.find((user) => emailKey(user.email) === key)
}

/** Takes a user's access away unless it was taken before. Answers whether it was this call. */
export async function revokeUserIfActive(
  trx: Transaction,
  shopId: string,
  id: string,
  revokedAt: string,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('users')
    .set({ revokedAt })
    .where('shopId', '=', shopId)
    .where('id', '=', id)
    .where('revokedAt', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Replaces a user's token. Returns false when the user was revoked or has another token meanwhile. */
export async function updateTokenIfUnchanged(trx: Transaction, user: UserRow, tokenHash: string): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('users')
    .set({ tokenHash })
    .where('shopId', '=', user.shopId)
    .where('id', '=', user.id)
    .where('tokenHash', '=', user.tokenHash)
    .where('revokedAt', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
