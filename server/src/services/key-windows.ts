import { type Context, nowIso } from '../context.ts'
import type { Trx } from '../db/database.ts'
import type { ApiKeyRow } from '../db/tables.ts'
import { conflict } from '../errors.ts'
import { deleteApiKeys, listApiKeys } from '../repositories/api-keys.ts'

/** How many keys of a shop work at the same time, and how many rate-limit windows its keys have between them. */
export const MAX_ACTIVE_KEYS = 20
/** Revoked and expired keys that stay listed. The audit keeps what happened to earlier ones. */
const MAX_ENDED_KEYS = 200
/** Ended keys deleted at a time. */
const BATCH_SIZE = 100

/**
 * The rate-limit window of a key that is about to be created: null for one of its own, or the id of the key whose window
 * it continues. A shop has no more windows than active keys, so creating and revoking keys earns it no more requests. Once
 * all windows exist, a new key continues the one that has been without a key longest. Deletes the keys that ended longest
 * ago, so that a shop's keys do not pile up.
 *
 * @throws ApiError 409 `key_limit_reached`.
 */
export async function assignWindow(ctx: Context, trx: Trx): Promise<string | null> {
  const now = nowIso(ctx)
  const keys = (await listApiKeys(trx, ctx.shop.id)).map((key) => ({ ...key, endedAt: endOf(key, now) }))
  const active = keys.filter(({ endedAt }) => endedAt === null)
  if (active.length >= MAX_ACTIVE_KEYS) {
    throw conflict(
      'key_limit_reached',
      `A shop can have ${MAX_ACTIVE_KEYS} active API keys. Revoke one before you create another.`,
    )
  }
  const ended = keys.filter(isEnded).sort((a, b) => (a.endedAt < b.endedAt ? 1 : -1))
  const surplus = ended.slice(MAX_ENDED_KEYS, MAX_ENDED_KEYS + BATCH_SIZE).map(({ id }) => id)
  if (surplus.length > 0) await deleteApiKeys(trx, ctx.shop.id, surplus)
  if (new Set(keys.map(windowOf)).size < MAX_ACTIVE_KEYS) return null
  const inUse = new Set(active.map(windowOf))
  // Each window at the end of its last key, the latest first.
  const free = [...new Set(ended.map(windowOf))].filter((window) => !inUse.has(window))
  return free.at(-1) ?? null
}

const windowOf = ({ id, limitSubject }: ApiKeyRow): string => limitSubject ?? id

type Ended = ApiKeyRow & { endedAt: string }
const isEnded = (key: ApiKeyRow & { endedAt: string | null }): key is Ended => key.endedAt !== null

/** When a key was revoked or expired, whichever came first; null while it works. */
function endOf({ revokedAt, expiresAt }: ApiKeyRow, now: string): string | null {
  const expiredAt = expiresAt !== null && expiresAt <= now ? expiresAt : null
  return revokedAt !== null && (expiredAt === null || revokedAt < expiredAt) ? revokedAt : expiredAt
}
