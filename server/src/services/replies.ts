import { type Context, nowIso } from '../context.ts'
import type { Trx } from '../db/database.ts'
import { conflict } from '../errors.ts'
import { deleteExpiredKey, findKey, insertKey } from '../repositories/idempotency-keys.ts'

const KEPT_MS = 30 * 86_400_000

/**
 * The stored result of an earlier call with the same `Idempotency-Key`, or undefined (section 4.9 rules 3 and 4).
 *
 * @throws ApiError 409 `idempotency_key_reused` when the key stands for another body.
 */
export async function findReply<T>(ctx: Context, trx: Trx): Promise<{ result: T } | undefined> {
  if (!ctx.idempotency) return undefined
  const row = await findKey(trx, ctx.shop.id, ctx.idempotency.key)
  if (!row) return undefined
  ctx.idempotency.hasExpired = row.expiresAt !== null && row.expiresAt <= nowIso(ctx)
  if (ctx.idempotency.hasExpired) return undefined
  if (!ctx.vault.hasFingerprint(row.fingerprint, ctx.idempotency.subject)) {
    throw conflict(
      'idempotency_key_reused',
      'This Idempotency-Key was used with another body; send a new key for a new request.',
    )
  }
  return { result: JSON.parse(row.result) as T }
}

/** Keeps the result under the caller's key, in the transaction of the change. */
export async function keepReply(ctx: Context, trx: Trx, result: unknown, keep: 'forever' | undefined): Promise<void> {
  if (!ctx.idempotency) return
  const createdAt = nowIso(ctx)
  if (ctx.idempotency.hasExpired) await deleteExpiredKey(trx, ctx.shop.id, ctx.idempotency.key, createdAt)
  await insertKey(trx, ctx.shop.id, {
    key: ctx.idempotency.key,
    fingerprint: ctx.vault.fingerprint(ctx.idempotency.subject),
    result: JSON.stringify(result),
    expiresAt: keep === 'forever' ? null : new Date(ctx.now() + KEPT_MS).toISOString(),
    createdAt,
  })
}
