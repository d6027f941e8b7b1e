import type { Reader, Transaction } from '../database/access.ts'
import type { SessionRow, SignInLinkRow } from '../database/tables.ts'

export const findSession = (db: Reader, tokenHash: string): Promise<SessionRow | undefined> =>
  db.selectFrom('sessions').selectAll().where('tokenHash', '=', tokenHash).executeTakeFirst()

export async function insertSession(trx: Transaction, row: SessionRow): Promise<void> {
  await trx.insertInto('sessions').values(row).execute()
}

export async function deleteSession(trx: Transaction, shopId: string, tokenHash: string): Promise<void> {
  await trx.deleteFrom('sessions').where('shopId', '=', shopId).where('tokenHash', '=', tokenHash).execute()
}

/** Ends every session of a user. */
export async function deleteSessionsOf(trx: Transaction, shopId: string, userId: string): Promise<void> {
  await trx.deleteFrom('sessions').where('shopId', '=', shopId).where('userId', '=', userId).execute()
}

/** Makes every sign-in link of a user open nothing. */
export async function deleteSignInLinksOf(trx: Transaction, shopId: string, userId: string): Promise<void> {
  await trx.deleteFrom('signInLinks').where('shopId', '=', shopId).where('userId', '=', userId).execute()
}

/** Forgets the shop's sessions and sign-in links that have had their time. */
export async function deleteExpired(trx: Transaction, shopId: string, now: string): Promise<void> {
  await trx.deleteFrom('sessions').where('shopId', '=', shopId).where('expiresAt', '<=', now).execute()
  await trx.deleteFrom('signInLinks').where('shopId', '=', shopId).where('expiresAt', '<=', now).execute()
}

export async function insertSignInLink(trx: Transaction, row: SignInLinkRow): Promise<void> {
  await trx.insertInto('signInLinks').values(row).execute()
}

export const findSignInLink = (db: Reader, tokenHash: string): Promise<SignInLinkRow | undefined> =>
  db.selectFrom('signInLinks').selectAll().where('tokenHash', '=', tokenHash).executeTakeFirst()

/** Uses a link up. Answers whether it was still there: of several who open it, one gets in. */
export async function deleteSignInLink(trx: Transaction, shopId: string, tokenHash: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('signInLinks')
    .where('shopId', '=', shopId)
    .where('tokenHash', '=', tokenHash)
    .executeTakeFirst()
  return numDeletedRows === 1n
}
