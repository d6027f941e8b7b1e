import { ApiError, concurrentChange, conflict, conflictWithRemedy, payoutProcessing } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body, Query } from '../../contract/spec.ts'
import { type Arrival, type Context, nowIso } from '../../core/context.ts'
import { money } from '../../core/currencies.ts'
import { findStoredResponse, replayStoredResponse } from '../../core/idempotency.ts'
import { laterId } from '../../core/ids.ts'
import { readFrom } from '../../core/lists.ts'
import { type AuditEntry, mutate } from '../../core/mutate.ts'
import { mapPage, readCursor } from '../../core/pagination.ts'
import { countRows } from '../../core/queries.ts'
import { chunks } from '../../database/chunks.ts'
import { defineReport, type Reader, type Transaction } from '../../database/database.ts'
import { yieldToEventLoop } from '../../database/event-loop.ts'
import { insertRow, updateIfUnchanged } from '../../database/rows.ts'
import type { PayoutBatchRow } from '../../database/tables.ts'
import { nextInstant, payoutLines } from '../../engine/payout.ts'
import { findAffiliatesById } from '../affiliates/queries.ts'
import {
  type CandidateFilter,
  cancelCarriedDebts,
  firstInstant,
  sumBatches,
  wasClaimedSince,
} from '../ledger/batch-commissions.ts'
import { payoutNotFound, toBatch } from '../ledger/batch-totals.ts'
import { listPreparing, sumFiles, sumSentByBatch } from '../ledger/payment-lines.ts'
import type { BatchFilter } from '../ledger/payouts.ts'
import * as queries from '../ledger/payouts.ts'
import {
  type BatchPlan,
  claimedConcurrently,
  type Estimate,
  estimate,
  parseCandidateFilter,
  planBatch,
  requireMinimum,
} from './batch.ts'
import { deleteLines } from './discard.ts'
import { awaitBatch, type Batch, CANCELED_REASON, changeBatch, processOf } from './process.ts'

export type { BatchFilter }
export { CANCELED_REASON }

/**
 * Lists batches with their totals, newest first. The access is audited before reading, and the result before it is
 * returned.
 *
 * @throws ApiError 503 `audit_unavailable` when either record cannot be written.
 */
export async function list(ctx: Context, query: Query<'listPayouts'> & BatchFilter) {
  const { id, ...listQuery } = query
  // An invalid cursor is rejected before the access is audited.
  const start = await readCursor(ctx, 'payoutBatches', query)
  await recordAudit(ctx, { action: 'payouts.accessed', subjectId: id ?? null, data: listQuery })
  const page = await readFrom(ctx, queries.batchList, { ...query, start })
  const ids = page.data.map((row) => row.id)
  const addLines = query.include === 'lines' ? await readLines(ctx, ids) : () => undefined
  const reply = mapPage(page, (row) => ({ ...toBatch(row), ...addLines(row.id) }))
  const data = { batches: ids.length, total: page.pagination.total }
  await recordAudit(ctx, { action: 'payouts.listed', subjectId: id ?? null, data })
  return reply
}

/**
 * Returns one batch. Does not audit; the caller must.
 *
 * @throws ApiError 404 `payout_not_found`.
 */
export async function find(ctx: Context, id: string) {
  const row = await queries.findBatch(ctx.db.read, ctx.shop.id, id)
  if (!row) throw payoutNotFound()
  return { ...toBatch(row), id: row.id }
}

/** What each batch pays, and how much of it was sent and returned. */
async function readLines(ctx: Context, ids: string[]) {
  const lines = await readFrom(ctx, batchLinesReport, ids)
  const sums = await sumSentByBatch(ctx.db.read, ctx.shop.id, ids)
  return (id: string) => ({ lines: lines.get(id) ?? [], sentCents: 0, returnedCents: 0, ...sums.get(id) })
}

/**
 * Creates a batch from a period's approved commissions. With `dryRun`, only returns it. If requests race, each
 * commission goes to exactly one batch; the rest may still form another.
 *
 * @throws ApiError 400 `period_invalid`, 404 `no_eligible_commissions`, and the 409s of {@link planBatch} and {@link
 * requireMinimum}.
 */
export async function create(ctx: Context, body: Body<'createPayout'>): Promise<Batch> {
  const filter = parseCandidateFilter(ctx, body)
  if (body.dryRun) return preview(ctx, filter)
  const arrival = arrivalOf(ctx)
  return createOnce(ctx, filter).catch(async (error) => {
    const isGone = error instanceof ApiError && error.code === 'no_eligible_commissions'
    if (isGone && (await wasClaimedSince(ctx.db.read, ctx.shop.id, filter, arrival))) throw claimedConcurrently()
    throw error
  })
}

/** On the shop's clock. */
function arrivalOf({ arrival, shop: { clockOffsetMs }, now, newId }: Context): Arrival {
  if (!arrival) return { at: now(), id: newId('req') }
  return { at: arrival.at + clockOffsetMs, id: laterId(arrival.id, clockOffsetMs) }
}

async function createOnce(ctx: Context, filter: CandidateFilter): Promise<Batch> {
  // Requests that are already in a socket start first, so that the losers of a race get 409, not 404.
  for (let turn = 0; turn < 3; turn++) await yieldToEventLoop()
  let initial: Estimate | undefined
  for (;;) {
    await awaitOthers(ctx, filter)
    const stored = await replayStoredResponse<Batch>(ctx)
    if (stored) return stored
    const before = await batchesOf(ctx.db.read, ctx.shop.id)
    const current = await estimate(ctx, filter)
    initial ??= current
    try {
      return await createFrom(ctx, filter, { before, current, initial })
    } catch (error) {
      const isRejected = error instanceof ApiError && error.status < 500
      const isOutdated = isRejected && (await batchesOf(ctx.db.read, ctx.shop.id)) !== before
      if (!isOutdated && !(error instanceof OutdatedEstimateError)) throw error
    }
  }
}

/** Another batch in the shop was created or has started to change since the estimate. */
class OutdatedEstimateError extends Error {}

/** How many batches a shop has, and which of them are changing. */
async function batchesOf(db: Reader, shopId: string): Promise<string> {
  const [count, changing] = await Promise.all([
    countRows(db, shopId, { list: 'payoutBatches' }),
    queries.listProcessing(db, shopId),
  ])
  return [count, ...changing.map(({ id }) => id).sort()].join(' ')
}

/**
 * Waits for batches that affect a new one: a batch with the same `Idempotency-Key`, batches being canceled, and batches
 * whose debts it collects.
 *
 * @throws ApiError 409 `payout_claimed_concurrently` if another new batch takes the same commissions.
 */
async function awaitOthers(ctx: Context, filter: CandidateFilter): Promise<void> {
  for (const batch of await queries.listProcessing(ctx.db.read, ctx.shop.id)) {
    const { becomes, filter: taken, idempotency } = processOf(batch)
    const isSame = idempotency !== undefined && idempotency.key === ctx.idempotency?.key
    if (taken && !isSame && overlaps(filter, taken)) throw claimedConcurrently()
    const debtsAt = taken && nextInstant(taken.periodEnd)
    const collects = taken && debtsAt && overlaps(filter, { ...taken, periodStart: debtsAt, periodEnd: debtsAt })
    if (isSame || collects || becomes === 'FAILED') await awaitBatch(ctx, batch.id, Number.POSITIVE_INFINITY)
  }
}

function overlaps(a: CandidateFilter, b: CandidateFilter): boolean {
  const isSame = (left?: string | null, other?: string | null) => !left || !other || left === other
  const affiliateIds = new Set(b.affiliateIds)
  return (
    firstInstant(a) <= b.periodEnd &&
    firstInstant(b) <= a.periodEnd &&
    isSame(a.currency, b.currency) &&
    isSame(a.programId, b.programId) &&
    (!a.affiliateIds || !b.affiliateIds || a.affiliateIds.some((id) => affiliateIds.has(id)))
  )
}

interface Estimates {
  before: string
  current: Estimate
  initial: Estimate
}

async function createFrom(
  ctx: Context,
  filter: CandidateFilter,
  { before, current, initial }: Estimates,
): Promise<Batch> {
  const plan = planBatch(current, initial)
  const { commissions, currency, exceptAffiliateIds } = plan
  const id = ctx.newId('bat')
  return changeBatch(ctx, {
    id,
    process: { becomes: 'OPEN', commissions, filter: { ...filter, currency, exceptAffiliateIds } },
    start: async (trx, shop, claim) => {
      if ((await batchesOf(trx, shop.id)) !== before) throw new OutdatedEstimateError()
      const minimumPayoutCents = requireMinimum({ ...ctx, shop }, plan, initial)
      const columns = newBatch(ctx, filter, plan)
      const row = { id, shopId: shop.id, version: 1, ...columns, minimumPayoutCents, ...EMPTY_TOTALS, ...claim }
      await insertRow(trx, 'payoutBatches', row)
      return row
    },
  })
}

/** A batch's totals before its commissions move. */
const EMPTY_TOTALS = { commissions: 0, affiliates: 0, commissionCents: 0, taxWithheldCents: 0, netPayableCents: 0 }

/**
 * Marks a batch and its commissions as paid.
 *
 * @throws ApiError 404 `payout_not_found`; 409 `payout_already_paid`, `payout_not_payable`, `payout_processing`,
 *   `payout_total_mismatch` or `concurrent_change`.
 */
export async function pay(ctx: Context, { id, expectedTotalCents }: Query<'payPayout'>) {
  const batch = await awaitBatch(ctx, id)
  rejectUnpayable(batch, expectedTotalCents)
  const preparing = await listPreparing(ctx.db.read, ctx.shop.id, id)
  await payBatch(ctx, batch)
  await deleteLines(
    ctx,
    preparing.map((file) => file.id),
  )
  return { ok: true as const, message: 'Payout batch marked as paid.', id }
}

/** @throws ApiError 409 `concurrent_change` when the batch has changed since it was read. */
export const payBatch = (ctx: Context, batch: PayoutBatchRow): Promise<Batch> =>
  changeBatch(ctx, {
    id: batch.id,
    process: { becomes: 'PAID', commissions: batch.commissions, previousStatus: batch.status },
    start: (trx, _, claim) => startChange(trx, batch, claim),
  })

async function startChange<Changes extends Partial<PayoutBatchRow>>(
  trx: Transaction,
  batch: PayoutBatchRow,
  changes: Changes,
): Promise<PayoutBatchRow> {
  if (!(await updateIfUnchanged(trx, 'payoutBatches', batch, changes))) throw concurrentChange()
  return { ...batch, ...changes, version: batch.version + 1 }
}

/** The batch that would be created. Stores nothing, but rejects an idempotency key used with another body. */
async function preview(ctx: Context, filter: CandidateFilter): Promise<Batch> {
  await findStoredResponse(ctx, ctx.db.read)
  const current = await estimate(ctx, filter)
  const plan = planBatch(current, current)
  const minimumPayoutCents = requireMinimum(ctx, plan, current)
  return toBatch({ id: null, ...newBatch(ctx, filter, plan), status: 'OPEN', minimumPayoutCents, ...plan.totals })
}

/** A new batch without its ID, minimum, and totals. */
function newBatch(ctx: Context, filter: CandidateFilter, { currency, heldBack, onHold }: BatchPlan) {
  const createdAt = nowIso(ctx)
  return {
    periodStart: filter.periodStart,
    periodEnd: filter.periodEnd,
    includeEarlier: filter.includeEarlier ? (1 as const) : (0 as const),
    currency,
    heldBackCommissions: heldBack.commissions,
    heldBackCents: heldBack.commissionCents,
    onHoldCommissions: onHold.commissions,
    onHoldCents: onHold.commissionCents,
    nextAvailableAt: onHold.nextAvailableAt,
    failureReason: null,
    createdAt,
    updatedAt: createdAt,
    paidAt: null,
  }
}

/** @throws ApiError 409 `payout_processing`, `payout_already_paid`, `payout_not_payable` or `payout_total_mismatch`. */
export function rejectUnpayable(batch: PayoutBatchRow, expectedCents: number | undefined): void {
  const { status, netPayableCents, currency } = batch
  if (status === 'PROCESSING') throw payoutProcessing()
  if (status === 'PAID') throw conflict('payout_already_paid', 'This payout batch is already PAID.')
  if (status === 'FAILED') throw conflict('payout_not_payable', 'This payout batch is FAILED and cannot be paid.')
  if (expectedCents !== undefined && expectedCents !== netPayableCents)
    throw totalMismatch(netPayableCents, expectedCents, currency)
}

export const totalMismatch = (cents: number, expectedCents: number, currency: string) =>
  conflictWithRemedy('payout_total_mismatch', {
    problem: `The batch pays ${money(cents, currency)}, not the expected ${money(expectedCents, currency)}.`,
    remedy: 'Fetch it again and retry.',
    field: 'expectedTotalCents',
  })

const recordAudit = (ctx: Context, audit: AuditEntry) => mutate(ctx, async () => ({ result: undefined, audit }))

type Schemas = components['schemas']

/** By batch ID. */
export type Lines = Map<string, Schemas['PayoutLine'][]>

/**
 * What each batch pays to each affiliate, including archived affiliates. Reads all of the batches' commissions, so it
 * runs in the report worker.
 */
export const batchLinesReport = defineReport(
  import.meta.url,
  'batchLinesReport',
  async (db, { shopId, query: batchIds }: { shopId: string; query: string[] }): Promise<Lines> => {
    if (batchIds.length === 0) return new Map()
    const rows = await sumBatches(db, shopId, batchIds)
    const contacts = await findContacts(db, shopId, new Set(rows.map((row) => row.affiliateId)))
    const byBatch = Map.groupBy(rows, (row) => row.batchId)
    return new Map(
      [...byBatch].map(([batchId, rows]) => {
        const lines = payoutLines(rows)
        // The totals were exact when the batch was created, and they only shrink.
        if (!lines) throw new Error('The lines of a batch are not exact')
        const named = lines.map(({ affiliateId, ...sums }) => {
          const { name = '', email = '' } = contacts.get(affiliateId) ?? {}
          return { affiliateId, name, email, ...sums }
        })
        return [batchId, named]
      }),
    )
  },
  { isLong: true },
)

/** Databases limit the number of values in a list. */
const MAX_IDS = 500

export async function findContacts(db: Reader, shopId: string, ids: Iterable<string>) {
  const contacts = new Map<string, { name: string; email: string }>()
  for (const some of chunks([...ids], MAX_IDS))
    for (const { id, name, email } of await findAffiliatesById(db, shopId, some)) contacts.set(id, { name, email })
  return contacts
}

/**
 * Cancels an unpaid batch: its commissions become `APPROVED` again and available to other batches. Debts that it
 * carried forward are canceled, unless another batch has collected them. Commissions whose payment was returned stay in
 * the batch.
 *
 * @throws ApiError 404 `payout_not_found`, 409 `payout_not_cancelable`, `payout_processing`, `payout_has_sent_lines` or
 * `concurrent_change`.
 */
export async function cancel(ctx: Context, id: string): Promise<Batch> {
  const batch = await awaitBatch(ctx, id)
  if (batch.status !== 'OPEN' && batch.status !== 'FAILED') {
    throw conflict('payout_not_cancelable', `This payout batch is ${batch.status} and cannot be canceled.`)
  }
  return changeBatch(ctx, {
    id,
    process: { becomes: 'FAILED', commissions: batch.commissions, previousStatus: batch.status },
    start: async (trx, shop, claim) => {
      const files = await sumFiles(trx, shop.id, id)
      if (files.isPreparing || files.returnedCents !== files.sentCents) throw hasSentLines()
      const started = await startChange(trx, batch, claim)
      await cancelCarriedDebts(trx, shop.id, id, nowIso(ctx))
      return started
    },
  })
}

const hasSentLines = () =>
  conflict(
    'payout_has_sent_lines',
    'Payments of this batch were sent, so it cannot be canceled. Reconcile them: the batch becomes PAID when every payment is SETTLED or RETURNED.',
  )
