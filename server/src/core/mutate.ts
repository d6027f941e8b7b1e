import { auditUnavailable, concurrentChange, outcomeUnknown, storageUnavailable } from '../contract/errors.ts'
import type { AuditChain, Transaction } from '../database/database.ts'
import { forEachYielding } from '../database/event-loop.ts'
import { CommitOutcomeUnknownError, isStorageError, isUniqueViolation } from '../database/storage-error.ts'
import type { ShopRow } from '../database/tables.ts'
import { hashAudit, insertAudit } from './audit.ts'
import { type Context, nowIso } from './context.ts'
import { findStoredResponse, storeResponse } from './idempotency.ts'
import { enqueue, type WebhookEvent } from './outbox.ts'

export interface AuditEntry {
  /** What happened, in the past tense: `affiliate.archived`. */
  action: string
  subjectId: string | null
  /** No secrets, no URLs, and no more of a person than needed. */
  data?: Record<string, unknown>
}

export interface Mutation<T> {
  result: T
  /** Null states that nothing changed that an audit keeps: a no-op, a repeated order, a stored click. */
  audit: AuditEntry | AuditEntry[] | null
  events?: WebhookEvent[]
  /** How long a reply under an `Idempotency-Key` is kept: 30 days, or for good. */
  keepResponse?: 'forever'
}

/** `shop`: the row as it is in the transaction; that of the context may be older than the body of the request. */
type Work<T> = (trx: Transaction, shop: ShopRow) => Promise<Mutation<T>>

/**
 * Every change goes through here: work, audit, outbox and the reply under the caller's `Idempotency-Key` are written in
 * one transaction or not at all. The dispatcher is woken after the commit. Work may run more than once.
 *
 * The transaction begins with the caller's credential: what was revoked before it commits changes nothing, and gets no
 * stored reply either. Transactions on one shop run one after the other, so nothing is revoked between check and commit.
 *
 * @throws ApiError 401, 403 or 503 as for a new request when the credential no longer opens this; 409
 *   `idempotency_key_reused` or `concurrent_change`; 503 when storage or audit fail; what work throws.
 */
export async function mutate<T>(ctx: Context, work: Work<T>): Promise<T> {
  try {
    const run = () => ctx.db.transact((trx, chain) => attempt(ctx, { trx, chain }, work), ctx.shop.id)
    // Somebody else was first: the second look sees what they wrote, and answers as to any later call.
    const done = await run().catch((error) => (isUniqueViolation(error) ? run() : Promise.reject(error)))
    if (done.replayed && ctx.idempotency) ctx.idempotency.replayed = true
    if (done.enqueued) ctx.wakeDispatcher()
    return done.result
  } catch (error) {
    if (isUniqueViolation(error)) throw concurrentChange(error)
    if (error instanceof CommitOutcomeUnknownError) throw outcomeUnknown(error)
    if (isStorageError(error)) throw storageUnavailable(error)
    throw error
  }
}

/** A transaction, and the audit chain that it appends to. */
interface OpenTransaction {
  trx: Transaction
  chain: AuditChain
}

async function attempt<T>(ctx: Context, { trx, chain }: OpenTransaction, work: Work<T>) {
  const { shop, stored } = await begin<T>(ctx, trx)
  if (stored) return { result: stored.result, replayed: true, enqueued: false }
  const { result, audit, events = [], keepResponse: keep } = await work(trx, shop)
  await forEachYielding(trx, [audit ?? []].flat(), (entry) => writeAudit(ctx, { trx, chain }, entry))
  const enqueued = await enqueue(ctx, trx, events)
  await storeResponse(ctx, trx, result, keep)
  return { result, replayed: false, enqueued }
}

/** Runs both queries at once, which costs one round trip on PostgreSQL. A rejected credential takes precedence. */
async function begin<T>(ctx: Context, trx: Transaction) {
  const checking = ctx.recheck?.(trx)
  const finding = findStoredResponse<T>(ctx, trx)
  finding.catch(() => {})
  const shop = (await checking) ?? ctx.shop
  return { shop, stored: await finding }
}

async function writeAudit(ctx: Context, { trx, chain }: OpenTransaction, entry: AuditEntry) {
  try {
    const last = await chain.head()
    const row = {
      id: ctx.newId('aud'),
      shopId: ctx.shop.id,
      seq: last.seq + 1,
      actor: ctx.actor,
      action: entry.action,
      subjectId: entry.subjectId,
      data: JSON.stringify(entry.data ?? {}),
      requestId: ctx.requestId,
      createdAt: nowIso(ctx),
      previousHash: last.hash,
    }
    const hash = hashAudit(row)
    await insertAudit(trx, { ...row, hash })
    chain.advance({ seq: row.seq, hash })
  } catch (error) {
    throw isStorageError(error) ? auditUnavailable(error) : error
  }
}

/**
 * Writes to the audit that a user looked at something; what they asked for is shown only after that.
 *
 * @throws ApiError 503 `audit_unavailable` or `storage_unavailable`.
 */
export const recordAccess = (ctx: Context, action: string, subjectId: string | null): Promise<undefined> =>
  mutate(ctx, async () => ({ result: undefined, audit: { action, subjectId } }))
