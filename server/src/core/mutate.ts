import { auditUnavailable, concurrentChange, outcomeUnknown, storageUnavailable } from '../contract/errors.ts'
import { type AuditChain, type AuditHead, NEW_HEAD, type Transaction } from '../database/database.ts'
import { forEachYielding } from '../database/event-loop.ts'
import { CommitOutcomeUnknownError, isStorageError, isUniqueViolation } from '../database/storage-error.ts'
import type { Touches } from '../database/touches.ts'
import { hashAudit, insertAudit } from './audit.ts'
import { type Context, type MutationContext, nowIso, type ShopId } from './context.ts'
import { findStoredResponse, storeResponse } from './idempotency.ts'
import { enqueue, listReceivers, type Receivers, type WebhookEvent, type WebhookEvents } from './outbox.ts'

export interface AuditEntry {
  /** In the past tense: `affiliate.archived`. */
  action: string
  subjectId: string | null
  /** No secrets, no URLs, and no more personal data than needed. */
  data?: Record<string, unknown>
}

export interface Mutation<T> {
  result: T
  /** Null when nothing auditable changed: a no-op, a repeated order, a stored click. */
  audit: AuditEntry | AuditEntry[] | null
  events?: WebhookEvent[]
  /** More extended events, read only if somebody asks for extended events. */
  extendedEvents?: WebhookEvents['extendedEvents']
  /** Keeps the response stored under an `Idempotency-Key` forever instead of for 30 days. */
  keepResponse?: 'forever'
}

/**
 * `shop`: the row as of the transaction; the row in the context was read before the request body arrived.
 * `isAlone`: no other work runs side by side, because no touches were declared.
 */
type Work<Shop, T> = (trx: Transaction, shop: Shop, isAlone: boolean) => Promise<Mutation<T>>

/** Thrown by work before it writes, when it finds that it touches more than it declared. It then runs again, alone. */
export class RunAloneError extends Error {
  override name = 'RunAloneError'
}

/** Work whose first reads do not depend on the credential: they run with its check, which saves round trips on PostgreSQL. */
export interface WorkWithReads<Shop, Found, T> {
  read: (trx: Transaction) => Promise<Found>
  run: (trx: Transaction, shop: Shop, found: Found) => Promise<Mutation<T>>
}

type AnyWork<Shop, Found, T> = Work<Shop, T> | WorkWithReads<Shop, Found, T>

/**
 * Runs every change: `work`, audit, outbox and the response stored under the caller's `Idempotency-Key` are written in one
 * transaction or not at all. The dispatcher is woken after the commit. `work` may run more than once.
 *
 * The transaction first checks the caller's credential again, so a revoked one changes nothing and gets no stored response.
 * Transactions on one shop run one at a time, so a credential cannot be revoked between check and commit.
 *
 * @param touches what `work` reads or writes that other work with touches writes, so that independent changes share round
 *   trips to the database; without it, `work` runs alone. The caller's `Idempotency-Key` is always included.
 * @throws ApiError 401, 403 or 503 as for a new request when the credential is no longer valid; 409
 *   `idempotency_key_reused` or `concurrent_change`; 503 when storage or audit fail; whatever `work` throws.
 */
export async function mutate<Shop extends ShopId, T, Found = undefined>(
  ctx: MutationContext<Shop>,
  work: AnyWork<Shop, Found, T>,
  touches?: Touches,
): Promise<T> {
  try {
    const all = touches && ctx.idempotency ? [...touches, `idempotencyKey:${ctx.idempotency.key}`] : touches
    const run = (declared: Touches | undefined) =>
      ctx.db.transact(
        (trx, chain) => runMutation(ctx, { trx, chain }, { work, isAlone: declared === undefined }),
        ctx.shop.id,
        declared,
      )
    const attempt = () =>
      run(all).catch((error) => (error instanceof RunAloneError ? run(undefined) : Promise.reject(error)))
    // Another request inserted the same row first: the second attempt finds it and returns what a later call would get.
    const done = await attempt().catch((error) => (isUniqueViolation(error) ? attempt() : Promise.reject(error)))
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

/** A transaction and the audit chain it appends to. */
interface OpenTransaction {
  trx: Transaction
  chain: AuditChain
}

async function runMutation<Shop extends ShopId, T, Found>(
  ctx: MutationContext<Shop>,
  { trx, chain }: OpenTransaction,
  { work, isAlone }: { work: AnyWork<Shop, Found, T>; isAlone: boolean },
) {
  const reading = typeof work === 'function' ? undefined : readAhead(ctx, trx, work)
  const { shop, stored } = await begin<Shop, T>(ctx, trx)
  if (stored) return { result: stored.result, replayed: true, enqueued: false }
  const {
    result,
    audit,
    events = [],
    extendedEvents,
    keepResponse: keep,
  } = await (typeof work === 'function'
    ? work(trx, shop, isAlone)
    : reading!.then(([found]) => work.run(trx, shop, found)))
  await forEachYielding(trx, [audit ?? []].flat(), (entry) => writeAudit(ctx, { trx, chain }, entry))
  const receivers = (await reading)?.[1]
  const enqueued = await enqueue(ctx, { trx, chain }, { events, extendedEvents, receivers })
  await storeResponse(ctx, trx, result, keep)
  return { result, replayed: false, enqueued }
}

/** Starts the reads of work, and those of the receivers of its events. */
function readAhead<Shop, Found, T>(
  ctx: MutationContext,
  trx: Transaction,
  work: WorkWithReads<Shop, Found, T>,
): Promise<[Found, Receivers]> {
  const reading = Promise.all([work.read(trx), listReceivers(ctx, trx)])
  // A rejected credential takes precedence.
  reading.catch(() => {})
  return reading
}

/** Runs both queries at once, which costs one round trip on PostgreSQL. A rejected credential takes precedence. */
async function begin<Shop extends ShopId, T>(ctx: MutationContext<Shop>, trx: Transaction) {
  const checking = ctx.recheck?.(trx)
  const finding = findStoredResponse<T>(ctx, trx)
  finding.catch(() => {})
  const shop = (await checking) ?? ctx.shop
  return { shop, stored: await finding }
}

const SALT_BYTES = 15

async function writeAudit(ctx: MutationContext, { trx, chain }: OpenTransaction, entry: AuditEntry) {
  // On PostgreSQL, an append runs for the whole group, so that a bug in it would fail the changes of others.
  const row = newAudit(ctx, entry)
  await chain.append((last) => insertLinked(trx, row, last))
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
    await insertAudit(trx, row.shopId, { ...linked, hash })
  } catch (error) {
    throw isStorageError(error) ? auditUnavailable(error) : error
  }
  return { ...last, seq: linked.seq, hash }
}

/** Begins the audit of a shop that the transaction of another shop creates. No other transaction knows it yet. */
export async function beginAudit(ctx: MutationContext, trx: Transaction, entry: AuditEntry): Promise<void> {
  const head = await insertLinked(trx, newAudit(ctx, entry), NEW_HEAD)
  await trx
    .insertInto('auditHeads')
    .values({ shopId: ctx.shop.id, generation: 0, ...head })
    .execute()
}

/**
 * Records in the audit that a user read something. Await it before the data is shown.
 *
 * @throws ApiError 503 `audit_unavailable` or `storage_unavailable`.
 */
export const recordAccess = (ctx: Context, action: string, subjectId: string | null): Promise<undefined> =>
  mutate(ctx, async () => ({ result: undefined, audit: { action, subjectId } }), [])
