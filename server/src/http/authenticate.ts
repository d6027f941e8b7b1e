import { timingSafeEqual } from 'node:crypto'
import { findKeyWithShop, type KeyWithShop, updateLastUsed } from '../accounts/queries.ts'
import { ApiError, forbidden, storageUnavailable } from '../contract/errors.ts'
import { bestEffort } from '../core/best-effort.ts'
import { type Deps, nowIso } from '../core/context.ts'
import { hashSecret, isWellFormed } from '../core/secret.ts'
import type { Reader } from '../database/access.ts'

export interface Caller extends KeyWithShop {
  scopes: string[]
}

const LAST_USED_EVERY_MS = 60_000

/** The one token of `Authorization: Bearer <token>`; undefined for any other text. */
export const tokenOf = (header: string): string | undefined => /^Bearer +(\S+)$/i.exec(header.trim())?.[1]

/** The API key of a call. @throws ApiError 401 (section 5 rule 3). */
export function bearerToken(header: string | null): string {
  if (!header) {
    throw new ApiError(401, 'credentials_missing', 'Send your API key in the header Authorization: Bearer <API_KEY>.')
  }
  const token = tokenOf(header)
  if (!token) {
    throw new ApiError(401, 'credentials_malformed', 'The Authorization header must be Bearer and one API key.')
  }
  return token
}

/**
 * The key and shop of a request (section 5). The hash finds the key; it is compared again in constant time.
 *
 * @throws ApiError 401 without a token, 403 for a key that is unknown, revoked or expired, 503 when nobody can tell.
 */
export async function authenticate(deps: Deps, header: string | null): Promise<Caller> {
  const token = bearerToken(header)
  if (!isWellFormed('rk', token)) throw unknownKey()
  try {
    return await findCaller(deps, deps.db.read, hashSecret(token))
  } catch (error) {
    throw error instanceof ApiError ? error : storageUnavailable(error)
  }
}

/**
 * The key and shop as `db` sees them: committed rows, or those of an open transaction.
 *
 * @throws ApiError 403 for a key that is unknown, revoked or expired.
 */
export async function findCaller(deps: Pick<Deps, 'now'>, db: Reader, secretHash: string): Promise<Caller> {
  const found = await findKeyWithShop(db, secretHash)
  if (!found || !equal(found.key.secretHash, secretHash)) throw unknownKey()
  const { revokedAt, expiresAt, scopes } = found.key
  if (revokedAt !== null) throw forbidden('key_revoked', 'This API key was revoked.')
  if (expiresAt !== null && expiresAt <= nowIso(deps)) throw forbidden('key_expired', 'This API key has expired.')
  return { ...found, scopes: JSON.parse(scopes) }
}

const unknownKey = () => forbidden('key_unknown', 'This API key is not known.')

const equal = (a: string, b: string) => timingSafeEqual(Buffer.from(a, 'hex'), Buffer.from(b, 'hex'))

/** Notes when a key was used, once a minute at most and without holding up the answer. */
export function createLastUsed(deps: Deps): (key: Caller['key']) => void {
  const notedAt = new Map<string, number>()
  return (key) => {
    const now = deps.now()
    const known = notedAt.get(key.id) ?? Date.parse(key.lastUsedAt ?? '1970-01-01T00:00:00.000Z')
    if (now - known < LAST_USED_EVERY_MS) return
    notedAt.set(key.id, now)
    const note = () => deps.db.transact((trx) => updateLastUsed(trx, key.shopId, key.id, new Date(now).toISOString()))
    void bestEffort(deps.log, 'last_used_not_written', note)
  }
}
