import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, auditUnavailable, concurrentChange, outcomeUnknown, storageUnavailable } from '../contract/errors.ts'
import { type AuditChain, type AuditHead, NEW_HEAD, type Transaction } from '../database/database.ts'
import { forEachInSlices } from '../database/event-loop.ts'
import { insertRow } from '../database/rows.ts'
import { CommitOutcomeUnknownError, isStorageError, isUniqueViolation } from '../database/storage-error.ts'
import { hashAudit } from './audit.ts'
import { type Context, type MutationContext, nowIso, type ShopId } from './context.ts'
import { findStoredResponse, storeResponse } from './idempotency.ts'
import { enqueue, listSubscriptionFilters, type WebhookEvent, type WebhookEvents } from './outbox.ts'

export interface AuditEntry {
  /** In the past tense: `affiliate.archived`. */
  action: string
  subjectId: string | null
  /** Must not contain secrets or URLs, or more personal data than needed. */
  data?: Record<string, unknown>
}

export interface Mutation<T> {
  result: T
  /** Null if nothing auditable changed: a no-op, a repeated order, a stored click. */
  audit: AuditEntry | AuditEntry[] | null
  events?: WebhookEvent[]
  /** Additional extended events, read only if a subscription includes extended events. */
  extendedEvents?: WebhookEvents['extendedEvents']
  /** Keeps the response stored under an `Idempotency-Key` forever instead of for 30 days. */
  keepResponse?: 'forever'
}

/** @param shop the row as of the transaction; the context's row was read before the request body arrived */
type Work<Shop, T> = (trx: Transaction, shop: Shop) => Promise<Mutation<T>>

/**
 * Runs every change. `work`, the audit record, the outbox, and the response stored under the caller's `Idempotency-Key`
 * are written in one transaction or not at all. The dispatcher is woken after the commit. `work` may run more than
 * once.
 *
 * The transaction first checks the caller's credential again, so a revoked one changes nothing and gets no stored
 * response. Transactions on one shop run one at a time, so a credential cannot be revoked between check and commit.
 *
 * @throws ApiError 401, 403 or 503 as for a new request when the credential is no longer valid; 409
 * `idempotency_key_reused` or `concurrent_change`, or `payout_processing` after 5 s; 503 when storage or audit fail;
 * whatever `work` throws.
 */
export async function mutate<Shop extends ShopId, T>(ctx: MutationContext<Shop>, work: Work<Shop, T>): Promise<T> {
  try {
    const attempt = () => ctx.db.transact((trx, chain) => runMutation(ctx, { trx, chain }, work), ctx.shop.id)
    // Another request inserted the same row first: the second attempt finds it and returns what a later call would get.
    const done = await repeatWhileProcessing(ctx, () =>
      attempt().catch((error) => (isUniqueViolation(error) ? attempt() : Promise.reject(error))),
    )
    if (done.replayed && ctx.idempotency) ctx.idempotency.replayed = true
    if (done.enqueued) ctx.wakeDispatcher()
    return done.result
  } catch (error) {
    if (isUniqueViolation(error)) throw concurrentChange(error)
    if (error instanceof CommitOutcomeUnknownError) throw outcomeUnknown(ctx.idempotency !== undefined, error)
    if (isStorageError(error)) throw storageUnavailable(error)
    throw error
  }
}

const MAX_WAIT_MS = 5000
const WAIT_MS = 50

/** Waits while a large payout batch moves its commissions. They can be changed again soon. */
async function repeatWhileProcessing<T>(
  { stopping }: Pick<MutationContext, 'stopping'>,
  attempt: () => Promise<T>,
): Promise<T> {
  const until = performance.now() + MAX_WAIT_MS
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      const isProcessing = error instanceof ApiError && error.code === 'payout_processing'
      if (!isProcessing || stopping.aborted || performance.now() >= until) throw error
      await sleep(WAIT_MS)
    }
  }
}

/** A transaction and the audit chain it appends to. */
interface OpenTransaction {
  trx: Transaction
  chain: AuditChain
}

async function runMutation<Shop extends ShopId, T>(
  ctx: MutationContext<Shop>,
  open: OpenTransaction,
  work: Work<Shop, T>,
) {
  const { trx } = open
  const { shop, stored, receivers } = await begin<Shop, T>(ctx, trx)
  if (stored) return { result: stored.result, replayed: true, enqueued: false }
  const { result, audit, events = [], extendedEvents, keepResponse: keep } = await work(trx, shop)
  await forEachInSlices(trx, [audit ?? []].flat(), (entry) => writeAudit(ctx, open, entry))
  const enqueued = await enqueue(ctx, open, { events, extendedEvents, receivers })
  await storeResponse(ctx, trx, result, keep)
  return { result, replayed: false, enqueued }
}

/** Queries everything at once, which costs one round trip on PostgreSQL. A rejected credential takes precedence. */
async function begin<Shop extends ShopId, T>(ctx: MutationContext<Shop>, trx: Transaction) {
  const checking = ctx.recheck?.(trx)
  const reading = Promise.all([findStoredResponse<T>(ctx, trx), listSubscriptionFilters(trx, ctx.shop.id)])
  reading.catch(() => {})
  const shop = (await checking) ?? ctx.shop
  const [stored, receivers] = await reading
  return { shop, stored, receivers }
}

const SALT_BYTES = 15

async function writeAudit(ctx: MutationContext, { trx, chain }: OpenTransaction, entry: AuditEntry) {
  await chain.append((last) => insertLinked(trx, newAudit(ctx, entry), last))
}

const newAudit = (ctx: MutationContext, entry: AuditEntry) => ({
  id: ctx.newId('aud'),
  shopId: ctx.shop.id,
  actor: ctx.actor,
  action: entry.action,
  subjectId: entry.subjectId,
  data: JSON.stringify(entry.data ?? {}),
  requestId: ctx.requestId,
  createdAt: nowIso(ctx),
  salt: Buffer.from(ctx.random(SALT_BYTES)).toString('base64url'),
  digest: null,
})

/** Inserts an audit row after the last one. Returns the new head. */
async function insertLinked(trx: Transaction, row: ReturnType<typeof newAudit>, last: AuditHead) {
  const linked = { ...row, seq: last.seq + 1, previousHash: last.hash }
  const hash = hashAudit(linked)
  try {
    await insertRow(trx, 'audits', { ...linked, hash })
  } catch (error) {
    throw isStorageError(error) ? auditUnavailable(error) : error
  }
  return { ...last, seq: linked.seq, hash }
}

/** Starts the audit log of a shop created in another shop's transaction. No other transaction sees it yet. */
export async function beginAudit(ctx: MutationContext, trx: Transaction, entry: AuditEntry): Promise<void> {
  const head = await insertLinked(trx, newAudit(ctx, entry), NEW_HEAD)
  await insertRow(trx, 'auditHeads', { shopId: ctx.shop.id, ...head })
}

/**
 * Records in the audit log that a user read something. Await it before showing the data.
 *
 * @throws ApiError 503 `audit_unavailable` or `storage_unavailable`.
 */
export const recordAccess = (ctx: Context, action: string, subjectId: string | null): Promise<undefined> =>
  mutate(ctx, async () => ({ result: undefined, audit: { action, subjectId } }))
