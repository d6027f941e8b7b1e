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

export async function insertSession(trx: Transaction, shopId: string, row: Omit<SessionRow, 'shopId'>): Promise<void> {
  await trx
    .insertInto('sessions')
    .values({ ...row, shopId })
    .execute()
}

export async function deleteSession(trx: Transaction, shopId: string, tokenHash: string): Promise<void> {
  await trx.deleteFrom('sessions').where('shopId', '=', shopId).where('tokenHash', '=', tokenHash).execute()
}

export async function updateLastSignIn(
  trx: Transaction,
  shopId: string,
  { id, at }: { id: string; at: string },
): Promise<void> {
  await trx.updateTable('users').set({ lastSignInAt: at }).where('shopId', '=', shopId).where('id', '=', id).execute()
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

/** Deletes one session of a user. Returns how many there were. */
export async function deleteSessionById(
  trx: Transaction,
  shopId: string,
  { userId, id }: { userId: string; id: string },
): Promise<number> {
  const { numDeletedRows } = await trx
    .deleteFrom('sessions')
    .where('shopId', '=', shopId)
    .where('userId', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

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

/** Deletes every session of a user. */
export async function deleteSessionsOf(trx: Transaction, shopId: string, userId: string): Promise<void> {
  await trx.deleteFrom('sessions').where('shopId', '=', shopId).where('userId', '=', userId).execute()
}

/** Deletes every sign-in link of a user. */
export async function deleteSignInLinksOf(trx: Transaction, shopId: string, userId: string): Promise<void> {
  await trx.deleteFrom('signInLinks').where('shopId', '=', shopId).where('userId', '=', userId).execute()
}

/** Deletes the shop's expired sessions and sign-in links. */
export async function deleteExpired(trx: Transaction, shopId: string, now: string): Promise<void> {
  await trx.deleteFrom('sessions').where('shopId', '=', shopId).where('expiresAt', '<=', now).execute()
  await trx.deleteFrom('signInLinks').where('shopId', '=', shopId).where('expiresAt', '<=', now).execute()
}

export async function insertSignInLink(
  trx: Transaction,
  shopId: string,
  row: Omit<SignInLinkRow, 'shopId'>,
): Promise<void> {
  await trx
    .insertInto('signInLinks')
    .values({ ...row, shopId })
    .execute()
}

export const findSignInLink = (db: Reader, tokenHash: string): Promise<SignInLinkRow | undefined> =>
  db.selectFrom('signInLinks').selectAll().where('tokenHash', '=', tokenHash).executeTakeFirst()

/** Deletes a link that is used. Returns whether it existed: of concurrent requests, one signs in. */
export async function deleteSignInLink(trx: Transaction, shopId: string, tokenHash: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('signInLinks')
    .where('shopId', '=', shopId)
    .where('tokenHash', '=', tokenHash)
    .executeTakeFirst()
  return numDeletedRows === 1n
}

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

export async function insertPasskey(trx: Transaction, shopId: string, row: Omit<PasskeyRow, 'shopId'>): Promise<void> {
  await trx
    .insertInto('passkeys')
    .values({ ...row, shopId })
    .execute()
}

/** Records a use of a passkey unless it was used or removed since it was read. Returns whether it was recorded. */
export async function updatePasskeyIfUnchanged(
  trx: Transaction,
  shopId: string,
  row: PasskeyRow,
  changes: Pick<PasskeyRow, 'counter' | 'lastUsedAt'>,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('passkeys')
    .set(changes)
    .where('shopId', '=', shopId)
    .where('id', '=', row.id)
    .where('counter', '=', row.counter)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Deletes one passkey of a user. Returns how many there were. */
export async function deletePasskey(
  trx: Transaction,
  shopId: string,
  { userId, id }: { userId: string; id: string },
): Promise<number> {
  const { numDeletedRows } = await trx
    .deleteFrom('passkeys')
    .where('shopId', '=', shopId)
    .where('userId', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** Deletes every passkey of a user. */
export async function deletePasskeysOf(trx: Transaction, shopId: string, userId: string): Promise<void> {
  await trx.deleteFrom('passkeys').where('shopId', '=', shopId).where('userId', '=', userId).execute()
}

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
