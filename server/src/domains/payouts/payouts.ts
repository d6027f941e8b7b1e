import { ApiError, concurrentChange, conflict, conflictWithRemedy } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body, Query } from '../../contract/spec.ts'
import { type Arrival, type Context, nowIso } from '../../core/context.ts'
import { money } from '../../core/currencies.ts'
import { findStoredResponse, replayStoredResponse } from '../../core/idempotency.ts'
import { laterId } from '../../core/ids.ts'
import { readFrom } from '../../core/lists.ts'
import { type AuditEntry, mutate } from '../../core/mutate.ts'
import { mapPage, readCursor } from '../../core/pagination.ts'
import { defineReport, type Reader, type Transaction } from '../../database/database.ts'
import { yieldToEventLoop } from '../../database/event-loop.ts'
import type { PayoutBatchRow } from '../../database/tables.ts'
import { heldBackTotals, payoutLines } from '../../engine/payout.ts'
import { affiliateMinimumsByCurrency } from '../accounts/settings.ts'
import { findAffiliatesById } from '../affiliates/queries.ts'
import { findPaidEvents } from '../commissions/event-queries.ts'
import { sumFiles, sumReturned, sumSentByBatch } from '../ledger/payment-lines.ts'
import type { BatchFilter } from '../ledger/payouts.ts'
import * as queries from '../ledger/payouts.ts'
import {
  type BatchPlan,
  batchTooLarge,
  checkPlan,
  claimedConcurrently,
  MAX_AT_ONCE,
  parseCandidateFilter,
  payoutNotFound,
  planBatch,
} from './batch.ts'
import { batchEvent, toBatch } from './batch-resource.ts'
import { changeBatch } from './change-batch.ts'
import { createLargeBatch, dryRunReport, type HeldBackSum, previewReport, rejectOverlap } from './create-large-batch.ts'
import { insertDebts, insertFirstDebts, sumPendingDebts } from './debts.ts'
import { deleteLines, discardPreparing } from './discard.ts'
import { awaitJobs } from './jobs.ts'

export type { BatchFilter }

/**
 * Lists batches with their totals, newest first. The access is audited before anything is read, and the result before it
 * is returned.
 *
 * @throws ApiError 503 `audit_unavailable` when either record cannot be written.
 */
export async function list(ctx: Context, query: Query<'listPayouts'> & BatchFilter) {
  const { id, ...asked } = query
  // An invalid cursor is rejected before the access is audited.
  const start = await readCursor(ctx, 'payoutBatches', query)
  await recordAudit(ctx, { action: 'payouts.accessed', subjectId: id ?? null, data: asked })
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
 * Creates a batch of the approved commissions of a period; with `dryRun` only returns it. When
 * requests race, each commission goes to exactly one; the rest may still form a batch.
 *
 * @throws ApiError 400 `period_invalid`, 404 `no_eligible_commissions`, and the 409s of {@link planBatch}.
 */
export async function create(ctx: Context, body: Body<'createPayout'>) {
  const filter = parseCandidateFilter(body)
  if (body.dryRun) return preview(ctx, filter)
  const arrival = arrivalOf(ctx)
  return createFrom(ctx, filter).catch(async (error) => {
    const isGone = error instanceof ApiError && error.code === 'no_eligible_commissions'
    if (isGone && (await queries.wasClaimedSince(ctx.db.read, ctx.shop.id, filter, arrival)))
      throw claimedConcurrently()
    throw error
  })
}

/** On the clock of the shop. */
function arrivalOf({ arrival, shop: { clockOffsetMs }, now, newId }: Context): Arrival {
  if (!arrival) return { at: now(), id: newId('req') }
  return { at: arrival.at + clockOffsetMs, id: laterId(arrival.id, clockOffsetMs) }
}

async function createFrom(ctx: Context, filter: queries.CandidateFilter) {
  // Requests that wait in a socket arrive first: one after the other, the losers of a race would find nothing on arrival.
  for (let turn = 0; turn < 3; turn++) await yieldToEventLoop()
  await awaitJobs(ctx, ctx.shop.id, ctx.idempotency?.key)
  if ((await queries.countApproved(ctx.db.read, ctx.shop.id)) > MAX_AT_ONCE) return createLarge(ctx, filter)
  // Only error messages depend on these sums, so they need no single snapshot.
  const initialSums = await queries.sumVisibleCandidates(ctx.db.read, ctx.shop.id, filter)
  return mutate(ctx, async (trx, shop) => {
    const current = { ...ctx, shop }
    await rejectOverlap(trx, shop.id, filter)
    // Checked before the first write, so that a lost race needs no rollback of many rows.
    const currentSums = await queries.sumCandidates(trx, ctx.shop.id, filter)
    const { currency, belowMinimum } = planBatch(current, filter, currentSums, initialSums)
    const batch = { id: ctx.newId('bat'), updatedAt: nowIso(ctx) }
    await queries.assignCandidates(trx, ctx.shop.id, { ...filter, currency, exceptAffiliateIds: belowMinimum }, batch)
    // The totals come from the commissions that were assigned.
    const plan = planBatch(current, filter, await queries.sumBatch(trx, ctx.shop.id, batch.id), initialSums)
    const heldBack = heldBackTotals(await queries.sumHeldBack(trx, ctx.shop.id, { ...filter, currency }))
    return insertBatch(ctx, trx, { id: batch.id, filter, plan, heldBack, hasSteps: false })
  })
}

/** For shops with many approved commissions, which may all belong to the batch. */
async function createLarge(ctx: Context, filter: queries.CandidateFilter) {
  const stored = await replayStoredResponse<ReturnType<typeof toBatch>>(ctx)
  if (stored) return stored
  const minimums = affiliateMinimumsByCurrency(ctx.shop)
  const found = await readFrom(ctx, previewReport, { filter, minimums })
  const constructing = createLargeBatch(ctx, filter, found, (trx, { heldBack, ...made }) =>
    insertBatch(ctx, trx, { ...made, filter, heldBack: heldBackTotals([toHeldBackRow(heldBack)]) }),
  )
  return constructing.catch(async (error) => {
    if (!ctx.idempotency || !(error instanceof ApiError) || error.status >= 500) throw error
    // A request with the same key that began after this one looked for it has claimed the commissions.
    await awaitJobs(ctx, ctx.shop.id, ctx.idempotency.key)
    const replayed = await replayStoredResponse<ReturnType<typeof toBatch>>(ctx)
    if (!replayed) throw error
    return replayed
  })
}

const toHeldBackRow = (sum: HeldBackSum) => ({ ...sum, affiliateId: '', currency: '', taxWithheldCents: 0 })

interface PlannedBatch {
  id: string
  filter: queries.CandidateFilter
  plan: BatchPlan
  heldBack: HeldBackTotals
  hasSteps: boolean
}

/** The totals that a batch holds back; null when the sum exceeds the largest exact integer. */
type HeldBackTotals = ReturnType<typeof heldBackTotals>

/** Inserts the batch of commissions that reference it already, and the debts it carries forward. */
async function insertBatch(ctx: Context, trx: Transaction, planned: PlannedBatch) {
  const { id, filter, plan, heldBack, hasSteps } = planned
  const row = { id, version: 1, ...newBatch(ctx, filter, plan, heldBack) }
  await queries.insertBatch(trx, ctx.shop.id, row)
  await (hasSteps ? insertFirstDebts : insertDebts)(ctx, trx, id, plan.debts)
  const { periodStart, periodEnd, currency, commissions, netPayableCents } = row
  const data = {
    periodStart,
    periodEnd,
    ...(filter.includeEarlier && { includeEarlier: true }),
    currency,
    commissions,
    netPayableCents,
  }
  return {
    result: toBatch(row),
    audit: { action: 'payout.created', subjectId: id, data },
    events: [batchEvent('payout.created', row, null)],
  }
}

/**
 * Marks a batch and its commissions as paid.
 *
 * @throws ApiError 404 `payout_not_found`; 409 `payout_already_paid`, `payout_not_payable`, `payout_total_mismatch` or
 *   `concurrent_change`.
 */
export async function pay(ctx: Context, { id, expectedTotalCents }: Query<'payPayout'>) {
  const batch = await queries.findBatch(ctx.db.read, ctx.shop.id, id)
  if (!batch) throw payoutNotFound()
  rejectUnpayable(batch, expectedTotalCents)
  let discarded: string[] = []
  const reply = await changeBatch(ctx, batch, async (trx, scheduleSteps) => {
    const paidAt = nowIso(ctx)
    const changes = { status: 'PAID' as const, paidAt, updatedAt: paidAt }
    if (!(await queries.updateBatchIfUnchanged(trx, ctx.shop.id, batch, changes))) throw concurrentChange()
    const isStepped = await scheduleSteps('PAYING', paidAt)
    if (!isStepped) await queries.updateToPaid(trx, ctx.shop.id, id, paidAt)
    const paid = { shopId: ctx.shop.id, batchId: id, paidAt }
    const { currency, commissions: count, netPayableCents } = batch
    const { ids, audits } = await discardPreparing(ctx, trx, id)
    discarded = ids
    const audit = { action: 'payout.paid', subjectId: id, data: { currency, commissions: count, netPayableCents } }
    return {
      result: { ok: true as const, message: 'Payout batch marked as paid.', id },
      audit: audits.length > 0 ? [...audits, audit] : audit,
      events: [batchEvent('payout.paid', { ...batch, ...changes }, batch.status)],
      // Each step sends those of its own commissions.
      ...(!isStepped && { extendedEvents: () => findPaidEvents(trx, paid) }),
    }
  })
  await deleteLines(ctx, discarded)
  return reply
}

/** The batch that would be created. Stores nothing, but rejects an idempotency key that was used with another body. */
async function preview(ctx: Context, filter: queries.CandidateFilter) {
  await findStoredResponse(ctx, ctx.db.read)
  const minimums = affiliateMinimumsByCurrency(ctx.shop)
  const { estimate, heldBack } = await readFrom(ctx, dryRunReport, { filter, minimums })
  const plan = checkPlan(ctx, estimate, () => estimate)
  const found = heldBack[plan.currency]
  return toBatch({ id: null, ...newBatch(ctx, filter, plan, found === undefined ? heldBackTotals([]) : found) })
}

/** A new batch without its id. @param heldBack the sums of the commissions that it cannot pay */
function newBatch(
  ctx: Context,
  filter: queries.CandidateFilter,
  { currency, totals, minimumPayoutCents }: BatchPlan,
  heldBack: HeldBackTotals,
) {
  if (!heldBack) throw batchTooLarge()
  const createdAt = nowIso(ctx)
  return {
    status: 'OPEN' as const,
    periodStart: filter.periodStart,
    periodEnd: filter.periodEnd,
    includeEarlier: filter.includeEarlier ? (1 as const) : (0 as const),
    currency,
    ...totals,
    heldBackCommissions: heldBack.commissions,
    heldBackCents: heldBack.commissionCents,
    minimumPayoutCents,
    failureReason: null,
    createdAt,
    updatedAt: createdAt,
    paidAt: null,
  }
}

/** @throws ApiError 409 `payout_already_paid`, `payout_not_payable` or `payout_total_mismatch`. */
export function rejectUnpayable(batch: PayoutBatchRow, expectedCents: number | undefined): void {
  const { status, netPayableCents, currency } = batch
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

/** By batch id. */
export type Lines = Map<string, Schemas['PayoutLine'][]>

/**
 * What each batch pays to each affiliate, including archived affiliates. Reads every commission of the batches, so it runs
 * in the report worker.
 */
export const batchLinesReport = defineReport(
  import.meta.url,
  'batchLinesReport',
  async (db, { shopId, query: batchIds }: { shopId: string; query: string[] }): Promise<Lines> => {
    if (batchIds.length === 0) return new Map()
    const rows = [...(await queries.sumBatches(db, shopId, batchIds)), ...(await sumPendingDebts(db, shopId, batchIds))]
    const contacts = await findContacts(db, shopId, new Set(rows.map((row) => row.affiliateId)))
    const byBatch = Map.groupBy(rows, (row) => row.batchId)
    return new Map(
      [...byBatch].map(([batchId, own]) => {
        const lines = payoutLines(own)
        // The sums were exact when the batch was created, and they only shrink.
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
  const rest = [...ids]
  while (rest.length) {
    const some = await findAffiliatesById(db, shopId, rest.splice(0, MAX_IDS))
    for (const { id, name, email } of some) contacts.set(id, { name, email })
  }
  return contacts
}

export const CANCELED_REASON = 'The batch was canceled.'

/**
 * Cancels a batch that is not paid: its commissions are `APPROVED` again and available to other batches. Debts that it
 * carried forward are canceled, unless another batch has collected them. Commissions whose payment was returned stay.
 *
 * @throws ApiError 404 `payout_not_found`, 409 `payout_not_cancelable`, `payout_has_sent_lines` or `concurrent_change`.
 */
export async function cancel(ctx: Context, id: string): Promise<components['schemas']['PayoutBatch']> {
  const batch = await queries.findBatch(ctx.db.read, ctx.shop.id, id)
  if (!batch) throw payoutNotFound()
  if (batch.status !== 'OPEN' && batch.status !== 'FAILED') {
    throw conflict('payout_not_cancelable', `This payout batch is ${batch.status} and cannot be canceled.`)
  }
  return changeBatch(ctx, batch, async (trx, scheduleSteps) => {
    const sent = await sumFiles(trx, ctx.shop.id, id)
    if (sent.isPreparing || sent.returnedCents !== sent.sentCents) throw hasSentLines()
    const updatedAt = nowIso(ctx)
    // What was returned is payable again already, as an adjustment, so its commissions stay paid.
    const kept = await sumReturned(trx, ctx.shop.id, id)
    const changes = { ...kept, status: 'FAILED' as const, failureReason: CANCELED_REASON, updatedAt }
    if (!(await queries.updateBatchIfUnchanged(trx, ctx.shop.id, batch, changes))) throw concurrentChange()
    const canceledDebts = await queries.cancelCarriedDebts(trx, ctx.shop.id, id, updatedAt)
    const isStepped = await scheduleSteps('RELEASING', updatedAt)
    // Half of the rows of debts were in the batch.
    const released = isStepped
      ? batch.commissions - kept.commissions - canceledDebts / 2
      : await queries.releaseCommissions(trx, ctx.shop.id, id, updatedAt)
    const data = { previousStatus: batch.status, released, netPayableCents: batch.netPayableCents }
    const after = { ...batch, ...changes }
    return {
      result: toBatch(after),
      audit: { action: 'payout.canceled', subjectId: id, data },
      events: batch.status === 'FAILED' ? [] : [batchEvent('payout.failed', after, batch.status)],
    }
  })
}

const hasSentLines = () =>
  conflict(
    'payout_has_sent_lines',
    'Payments of this batch were sent, so it cannot be canceled. Reconcile them: the batch becomes PAID when every payment is SETTLED or RETURNED.',
  )
