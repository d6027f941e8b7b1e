import { API_SWITCH } from '../../core/installation.ts'
import { type Page, type PageQuery, pageOf } from '../../core/pagination.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import { findRow, updateRows } from '../../database/rows.ts'
import type { ApiKeyRow, AuditHeadRow, ShopRow, UserRow } from '../../database/tables.ts'
import { emailKey } from '../../engine/normalize.ts'

const selectKeyWithShop = (db: Reader) =>
  db
    .selectFrom('apiKeys')
    .innerJoin('shops', 'shops.id', 'apiKeys.shopId')
    .selectAll('shops')
    .select([
      'apiKeys.id as keyId',
      'apiKeys.secretHash as keySecretHash',
      'apiKeys.scopes as keyScopes',
      'apiKeys.lastUsedAt as keyLastUsedAt',
      'apiKeys.expiresAt as keyExpiresAt',
      'apiKeys.revokedAt as keyRevokedAt',
      'apiKeys.limitSubject as keyLimitSubject',
      'apiKeys.previousSecretHash as keyPreviousSecretHash',
      'apiKeys.previousSecretUntil as keyPreviousSecretUntil',
    ])
    .select((all) =>
      all.selectFrom('installationSettings').select('value').where('name', '=', API_SWITCH).as('installationSwitch'),
    )

const keyBySecret = prepared<{ secretHash: string }>()((db, { secretHash }) =>
  selectKeyWithShop(db).where('apiKeys.secretHash', '=', secretHash).compile(),
)

const keyByPreviousSecret = prepared<{ secretHash: string }>()((db, { secretHash }) =>
  selectKeyWithShop(db).where('apiKeys.previousSecretHash', '=', secretHash).compile(),
)

/** A key with everything that decides whether it is valid. */
export interface KeyWithShop {
  key: Omit<ApiKeyRow, 'label' | 'prefix' | 'createdAt'>
  shop: ShopRow
  /** The kill switch of the whole installation is on. */
  isApiOff: boolean
}

/**
 * Finds a key by its secret, or by the one before its last rotation. One statement for a current secret, because it runs
 * twice per change: before the body is read and in the transaction.
 */
export async function findKeyWithShop(db: Reader, secretHash: string): Promise<KeyWithShop | undefined> {
  const [row = (await keyByPreviousSecret(db, { secretHash }))[0]] = await keyBySecret(db, { secretHash })
  if (!row) return undefined
  const key = {
    id: row.keyId,
    shopId: row.id,
    secretHash: row.keySecretHash,
    scopes: row.keyScopes,
    lastUsedAt: row.keyLastUsedAt,
    expiresAt: row.keyExpiresAt,
    revokedAt: row.keyRevokedAt,
    limitSubject: row.keyLimitSubject,
    previousSecretHash: row.keyPreviousSecretHash,
    previousSecretUntil: row.keyPreviousSecretUntil,
  }
  return { key, shop: row, isApiOff: row.installationSwitch === 'off' }
}

/** Newest first. */
export const listApiKeys = (db: Reader, shopId: string): Promise<ApiKeyRow[]> =>
  db
    .selectFrom('apiKeys')
    .selectAll()
    .where('shopId', '=', shopId)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .execute()

export async function deleteApiKeys(trx: Transaction, shopId: string, ids: string[]): Promise<void> {
  await trx.deleteFrom('apiKeys').where('shopId', '=', shopId).where('id', 'in', ids).execute()
}

/** Updates a key unless it was revoked or has another secret since it was read. Returns whether it was updated. */
export const updateApiKeyIfUnchanged = async (
  trx: Transaction,
  { shopId, id, secretHash }: ApiKeyRow,
  changes: Partial<ApiKeyRow>,
): Promise<boolean> => (await updateRows(trx, 'apiKeys', { shopId, id, secretHash, revokedAt: null }, changes)) === 1

export interface UsedKey {
  shopId: string
  id: string
  lastUsedAt: string
}

/** Asks for all updates at once, which costs one round trip on PostgreSQL. */
export async function updateLastUsed(trx: Transaction, keys: UsedKey[]): Promise<void> {
  await Promise.all(
    keys.map(({ shopId, id, lastUsedAt }) => updateRows(trx, 'apiKeys', { shopId, id }, { lastUsedAt })),
  )
}

export const findShop = (db: Reader, shopId: string): Promise<ShopRow | undefined> =>
  findRow(db, 'shops', { id: shopId })

/** Applies a shop's changes to its test shops. */
export async function updateTestShops(trx: Transaction, shopId: string, changes: Partial<ShopRow>): Promise<void> {
  await trx
    .updateTable('shops')
    .set((eb) => ({ ...changes, version: eb('version', '+', 1) }))
    .where('testOf', '=', shopId)
    .where('deletionStartedAt', 'is', null)
    .execute()
}

/** The test shops of a shop, oldest first, with those that are being deleted. */
export const listTestShops = (db: Reader, shopId: string): Promise<ShopRow[]> =>
  db.selectFrom('shops').selectAll().where('testOf', '=', shopId).orderBy('createdAt').orderBy('id').execute()

/** Whether a person is being erased, so that the audit does not state all changed rows yet. */
export const hasUnfinishedErasure = async (db: Reader, shopId: string): Promise<boolean> =>
  (await db
    .selectFrom('erasures')
    .select('id')
    .where('shopId', '=', shopId)
    .where('finishedAt', 'is', null)
    .limit(1)
    .executeTakeFirst()) !== undefined

export const listShops = (db: Reader): Promise<ShopRow[]> =>
  db.selectFrom('shops').selectAll().orderBy('createdAt').orderBy('id').execute()

/** Oldest first. */
export function pageOfShops(
  db: Reader,
  query: PageQuery & { status?: 'ACTIVE' | 'SUSPENDED' | 'DELETING' },
): Promise<Page<ShopRow>> {
  let list = db.selectFrom('shops').selectAll().orderBy('createdAt').orderBy('id')
  if (query.status === 'ACTIVE') list = list.where('suspendedAt', 'is', null)
  if (query.status === 'SUSPENDED')
    list = list.where('suspendedAt', 'is not', null).where('deletionStartedAt', 'is', null)
  if (query.status === 'DELETING') list = list.where('deletionStartedAt', 'is not', null)
  return pageOf(list, query)
}

/** The number and hash of the last row of the shop's audit. */
export const findAuditHead = (db: Reader, shopId: string): Promise<Pick<AuditHeadRow, 'seq' | 'hash'> | undefined> =>
  db.selectFrom('auditHeads').select(['seq', 'hash']).where('shopId', '=', shopId).executeTakeFirst()

/** Oldest first. */
export const listUsers = (db: Reader, shopId: string): Promise<UserRow[]> =>
  db.selectFrom('users').selectAll().where('shopId', '=', shopId).orderBy('createdAt').orderBy('id').execute()

export const findUserByToken = (db: Reader, tokenHash: string): Promise<UserRow | undefined> =>
  db.selectFrom('users').selectAll().where('tokenHash', '=', tokenHash).executeTakeFirst()

/** The active users of all shops with an address. Oldest first. */
export const findUsersOfAllShops = (db: Reader, email: string, limit: number): Promise<UserRow[]> =>
  db
    .selectFrom('users')
    .selectAll()
    .where('emailKey', '=', emailKey(email))
    .where('revokedAt', 'is', null)
    .orderBy('createdAt')
    .orderBy('id')
    .limit(limit)
    .execute()

/** Compares addresses exactly first, then by their key. */
export async function findUserByEmail(db: Reader, shopId: string, email: string): Promise<UserRow | undefined> {
  const users = await db.selectFrom('users').selectAll().where('shopId', '=', shopId).orderBy('id').execute()
  const key = emailKey(email)
  return users.find((user) => user.email === email) ?? users.find((user) => emailKey(user.email) === key)
}
