import type { Trx } from '../database/database.ts'
import type { SessionRow, SignInLinkRow } from '../database/tables.ts'

export const findSession = (db: Trx, tokenHash: string): Promise<SessionRow | undefined> =>
  db.selectFrom('sessions').selectAll().where('tokenHash', '=', tokenHash).executeTakeFirst()

export async function insertSession(trx: Trx, row: SessionRow): Promise<void> {
  await trx.insertInto('sessions').values(row).execute()
}

export async function deleteSession(trx: Trx, shopId: string, tokenHash: string): Promise<void> {
  await trx.deleteFrom('sessions').where('shopId', '=', shopId).where('tokenHash', '=', tokenHash).execute()
}

/** Ends every session of a user. */
export async function deleteSessionsOf(trx: Trx, shopId: string, userId: string): Promise<void> {
  await trx.deleteFrom('sessions').where('shopId', '=', shopId).where('userId', '=', userId).execute()
}

/** Makes every sign-in link of a user open nothing. */
export async function deleteSignInLinksOf(trx: Trx, shopId: string, userId: string): Promise<void> {
  await trx.deleteFrom('signInLinks').where('shopId', '=', shopId).where('userId', '=', userId).execute()
}

/** Forgets the shop's sessions and sign-in links that have had their time. */
export async function deleteExpired(trx: Trx, shopId: string, now: string): Promise<void> {
  await trx.deleteFrom('sessions').where('shopId', '=', shopId).where('expiresAt', '<=', now).execute()
  await trx.deleteFrom('signInLinks').where('shopId', '=', shopId).where('expiresAt', '<=', now).execute()
}

export async function insertSignInLink(trx: Trx, row: SignInLinkRow): Promise<void> {
  await trx.insertInto('signInLinks').values(row).execute()
}

export const findSignInLink = (db: Trx, tokenHash: string): Promise<SignInLinkRow | undefined> =>
  db.selectFrom('signInLinks').selectAll().where('tokenHash', '=', tokenHash).executeTakeFirst()

/** Uses a link up. Answers whether it was still there: of several who open it, one gets in. */
export async function claimSignInLink(trx: Trx, shopId: string, tokenHash: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('signInLinks')
    .where('shopId', '=', shopId)
    .where('tokenHash', '=', tokenHash)
    .executeTakeFirst()
  return numDeletedRows === 1n
}
