import type { Reader, Transaction } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import type { PasskeyRow, SessionRow, ShopRow, SignInLinkRow, UserRow } from '../../database/tables.ts'

const sessionByHash = prepared<{ tokenHash: string }>()((db, { tokenHash }) =>
  db.selectFrom('sessions').selectAll().where('tokenHash', '=', tokenHash).compile(),
)

const userOfSession = prepared<{ tokenHash: string }>()((db, { tokenHash }) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', (join) =>
      join.onRef('users.shopId', '=', 'sessions.shopId').onRef('users.id', '=', 'sessions.userId'),
    )
    .selectAll('users')
    .where('sessions.tokenHash', '=', tokenHash)
    .compile(),
)

const shopOfSession = prepared<{ tokenHash: string }>()((db, { tokenHash }) =>
  db
    .selectFrom('sessions')
    .innerJoin('shops', 'shops.id', 'sessions.shopId')
    .selectAll('shops')
    .where('sessions.tokenHash', '=', tokenHash)
    .compile(),
)

/** A session, its user and its shop. Asks for all of them at once, which costs one round trip on PostgreSQL. */
export async function findSession(
  db: Reader,
  tokenHash: string,
): Promise<{ session: SessionRow; user: UserRow; shop: ShopRow } | undefined> {
  const [[session], [user], [shop]] = await Promise.all([
    sessionByHash(db, { tokenHash }),
    userOfSession(db, { tokenHash }),
    shopOfSession(db, { tokenHash }),
  ])
  return session && user && shop && { session, user, shop }
}

/** Newest first. */
export const listSessionsOf = (db: Reader, shopId: string, userId: string): Promise<SessionRow[]> =>
  db
    .selectFrom('sessions')
    .selectAll()
    .where('shopId', '=', shopId)
    .where('userId', '=', userId)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .execute()

/** Deletes the sessions of a user except one, by its hash. Returns how many there were. */
export async function deleteOtherSessions(
  trx: Transaction,
  shopId: string,
  { userId, keptHash }: { userId: string; keptHash: string },
): Promise<number> {
  const { numDeletedRows } = await trx
    .deleteFrom('sessions')
    .where('shopId', '=', shopId)
    .where('userId', '=', userId)
    .where('tokenHash', '!=', keptHash)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Deletes the shop's expired sessions and sign-in links. */
export async function deleteExpired(trx: Transaction, shopId: string, now: string): Promise<void> {
  await trx.deleteFrom('sessions').where('shopId', '=', shopId).where('expiresAt', '<=', now).execute()
  await trx.deleteFrom('signInLinks').where('shopId', '=', shopId).where('expiresAt', '<=', now).execute()
}

export const findSignInLink = (db: Reader, tokenHash: string): Promise<SignInLinkRow | undefined> =>
  db.selectFrom('signInLinks').selectAll().where('tokenHash', '=', tokenHash).executeTakeFirst()

/** Oldest first. */
export const listPasskeysOf = (db: Reader, shopId: string, userId: string): Promise<PasskeyRow[]> =>
  db
    .selectFrom('passkeys')
    .selectAll()
    .where('shopId', '=', shopId)
    .where('userId', '=', userId)
    .orderBy('createdAt')
    .orderBy('id')
    .execute()

export const findPasskey = (db: Reader, credentialId: string): Promise<PasskeyRow | undefined> =>
  db.selectFrom('passkeys').selectAll().where('credentialId', '=', credentialId).executeTakeFirst()

/** Marks a challenge as answered, unless it or a later one was already. Returns whether this call did it. */
export async function useChallenge(
  trx: Transaction,
  shopId: string,
  { userId, issuedAt }: { userId: string; issuedAt: string },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('users')
    .set({ challengeAt: issuedAt })
    .where('shopId', '=', shopId)
    .where('id', '=', userId)
    .where((all) => all.or([all('challengeAt', 'is', null), all('challengeAt', '<', issuedAt)]))
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
