import { conflict } from '../contract/errors.ts'
import type { Reader, Transaction } from '../database/database.ts'
import { findRow, insertRow } from '../database/rows.ts'
import { type Context, type MutationContext, nowIso } from './context.ts'

/** How long a stored response is kept, unless it is kept forever. `operator/retention.ts` deletes expired ones. */
const RESPONSE_RETENTION_MS = 30 * 86_400_000

/**
 * The stored response to an earlier request with the same `Idempotency-Key`, or undefined.
 *
 * @throws ApiError 409 `idempotency_key_reused` when the key was used with another body.
 */
export async function findStoredResponse<T>(ctx: MutationContext, db: Reader): Promise<{ result: T } | undefined> {
  if (!ctx.idempotency) return undefined
  const row = await findRow(db, 'idempotencyKeys', { shopId: ctx.shop.id, key: ctx.idempotency.key })
  if (!row) return undefined
  ctx.idempotency.hasExpired = row.expiresAt !== null && row.expiresAt <= nowIso(ctx)
  if (ctx.idempotency.hasExpired) return undefined
  if (!ctx.idempotency.fingerprints.includes(row.fingerprint)) {
    throw conflict(
      'idempotency_key_reused',
      'This Idempotency-Key was already used with a different path or body. Use a new key.',
    )
  }
  return { result: JSON.parse(row.result) as T }
}

/**
 * Like {@link findStoredResponse}, but before a transaction: a use case that rejects requests before its transaction
 * returns the stored response first, so that a retry gets it whatever has changed since. `mutate` looks again.
 *
 * @throws ApiError 409 `idempotency_key_reused`, and as for a new request when the credential is no longer valid.
 */
export async function replayStoredResponse<T>(ctx: Context): Promise<T | undefined> {
  const stored = await findStoredResponse<T>(ctx, ctx.db.read)
  if (!stored || !ctx.idempotency) return undefined
  await ctx.recheck?.(ctx.db.read)
  ctx.idempotency.replayed = true
  return stored.result
}

/** Stores the response under the caller's `Idempotency-Key`, in the transaction of the change. */
export async function storeResponse(
  ctx: MutationContext,
  trx: Transaction,
  result: unknown,
  keep: 'forever' | undefined,
): Promise<void> {
  if (!ctx.idempotency) return
  const createdAt = nowIso(ctx)
  if (ctx.idempotency.hasExpired) await deleteExpiredResponse(trx, ctx.shop.id, ctx.idempotency.key, createdAt)
  await insertRow(trx, 'idempotencyKeys', {
    shopId: ctx.shop.id,
    key: ctx.idempotency.key,
    fingerprint: ctx.idempotency.fingerprints[0],
    result: JSON.stringify(result),
    expiresAt: keep === 'forever' ? null : new Date(ctx.now() + RESPONSE_RETENTION_MS).toISOString(),
    createdAt,
  })
}

/** Deletes an expired stored response. Its key can be used again. */
async function deleteExpiredResponse(trx: Transaction, shopId: string, key: string, now: string): Promise<void> {
  const response = trx.deleteFrom('idempotencyKeys').where('shopId', '=', shopId).where('key', '=', key)
  await response.where('expiresAt', '<=', now).execute()
}

const MAX_DELETED = 500

/** Deletes some expired stored responses of all shops, or of one. Returns whether there may be more. */
export async function deleteExpiredResponses(trx: Transaction, now: string, ofShop?: string): Promise<boolean> {
  let expired = trx.selectFrom('idempotencyKeys').select(['shopId', 'key']).where('expiresAt', '<=', now)
  if (ofShop !== undefined) expired = expired.where('shopId', '=', ofShop)
  const rows = await expired.limit(MAX_DELETED).execute()
  for (const { shopId, key } of rows) await deleteExpiredResponse(trx, shopId, key, now)
  return rows.length === MAX_DELETED
}
