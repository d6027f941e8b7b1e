import { setTimeout as sleep } from 'node:timers/promises'
import { concurrentChange, payoutProcessing, storageUnavailable } from '../../contract/errors.ts'
import {
  type Clock,
  type Context,
  clockOf,
  type Deps,
  type MutationContext,
  nowIso,
  systemClock,
} from '../../core/context.ts'
import { hasEnded, registerLeaseHolder, unregisterLeaseHolder } from '../../core/lease-holders.ts'
import { readFrom } from '../../core/lists.ts'
import { bestEffort } from '../../core/log.ts'
import { type Mutation, mutate } from '../../core/mutate.ts'
import { enqueue } from '../../core/outbox.ts'
import { chunks } from '../../database/chunks.ts'
import { defineReport, type Transaction } from '../../database/database.ts'
import { updateIfUnchanged } from '../../database/rows.ts'
import type { BatchProcess, PayoutBatchRow, ShopRow } from '../../database/tables.ts'
import { findShop } from '../accounts/queries.ts'
import { findPaidEvents } from '../commissions/event-queries.ts'
import {
  MAX_MOVED,
  payCommissions,
  readBatch,
  readCandidates,
  releaseCommissions,
  sumBatches,
  takeCommissions,
} from '../ledger/batch-commissions.ts'
import {
  batchEvent,
  type Claim,
  type ComputedBatch,
  computeBatch,
  EMPTY_BATCH_REASON,
  insertDebts,
  payoutNotFound,
  toBatch,
} from '../ledger/batch-totals.ts'
import { sumReturned } from '../ledger/payment-lines.ts'
import * as queries from '../ledger/payouts.ts'
import { discardPreparing } from './discard.ts'

export type Batch = ReturnType<typeof toBatch>
/** The dependencies, from the server or from a request. */
type ServerDeps = Deps & Pick<MutationContext, 'system'>
type ServerClock = Clock & Pick<MutationContext, 'system'>

/** How long an unresponsive run keeps its batch. Each step renews the claim. */
const CLAIM_MS = 15_000
/** How often an idle server looks for batches whose run has died. */
const RESUME_INTERVAL_MS = 5000
const WAIT_MS = 50
/** How long a change to a batch waits for a run. */
const MAX_WAIT_MS = 5000
/** How many commissions one step of a large batch moves. The shop is locked for some milliseconds. */
const STEP_ROWS = 100
/** How many debts one step carries forward. Each has two rows. */
const STEP_DEBTS = STEP_ROWS / 2

export const CANCELED_REASON = 'The batch was canceled.'

/** A batch that starts to change, and its result. */
interface BatchChange {
  id: string
  process: Pick<BatchProcess, 'becomes' | 'commissions' | 'filter' | 'previousStatus'>
  /** Inserts or updates the batch with these columns. */
  start: (trx: Transaction, shop: ShopRow, claim: Claim & { status: 'PROCESSING' }) => Promise<PayoutBatchRow>
}

/**
 * Changes a batch and its commissions: starts, moves the commissions in steps, and completes it. Up to 500 commissions
 * are a single step, in one transaction. Otherwise, the batch is `PROCESSING` in between, and any process can complete
 * it after a crash.
 *
 * @throws whatever `start` throws; 503 when the server stops.
 */
export async function changeBatch(ctx: Context, { id, process: planned, start }: BatchChange): Promise<Batch> {
  const { actor, requestId, traceparent, idempotency } = ctx
  const process: BatchProcess = {
    ...planned,
    at: nowIso(ctx),
    actor,
    requestId,
    ...(traceparent !== undefined && { traceparent }),
    ...(idempotency && { idempotency: { key: idempotency.key, fingerprints: idempotency.fingerprints } }),
  }
  const claim = {
    ...newClaim(ctx),
    status: 'PROCESSING' as const,
    process: JSON.stringify(process),
    movedCommissions: 0,
  }
  try {
    if (process.commissions <= MAX_MOVED)
      return await changeAtOnce(ctx, { id, process, start: (trx, shop) => start(trx, shop, claim) })
    const { idempotency: _, ...unkeyed } = ctx
    const batch = await mutate(unkeyed, async (trx, shop) => ({ result: await start(trx, shop, claim), audit: null }))
    return (await run(ctx, batch)) ?? toBatch(await awaitBatch(ctx, id, Number.POSITIVE_INFINITY))
  } finally {
    // Another run continues immediately.
    unregisterLeaseHolder(claim.claimedBy)
  }
}

interface Started {
  id: string
  process: BatchProcess
  start: (trx: Transaction, shop: ShopRow) => Promise<PayoutBatchRow>
}

async function changeAtOnce(ctx: Context, { id, process, start }: Started): Promise<Batch> {
  const ids: string[] = []
  for await (const some of readRows(ctx, { id, process })) ids.push(...some)
  return mutate(ctx, async (trx, shop) => {
    const shopCtx = { ...ctx, shop }
    const batch = await start(trx, shop)
    const moved = await moveRows(trx, batch, process, ids)
    const computed =
      process.becomes === 'OPEN' ? computeBatch(await sumBatches(trx, shop.id, [id]), batch.periodEnd) : null
    if (computed) await insertDebts(shopCtx, trx, id, computed.debts)
    const done = await complete(shopCtx, trx, batch, { process, moved: moved.length, computed })
    return { ...done, ...(process.becomes === 'PAID' && paidEvents(trx, batch, moved)) }
  })
}

/** Only for rows moved here. Events for the others were sent when their payments were reported. */
const paidEvents = (trx: Transaction, { shopId, id: batchId }: PayoutBatchRow, moved: { id: string }[]) => ({
  extendedEvents: () =>
    findPaidEvents(
      trx,
      { shopId, batchId },
      moved.map(({ id }) => id),
    ),
})

/** The commissions that a run moves, 500 at a time. Moved commissions do not change again. */
const readRows = ({ db, shop }: Context, { id, process: { filter } }: { id: string; process: BatchProcess }) =>
  filter ? readCandidates(db.read, shop.id, filter) : readBatch(db.read, shop.id, id)

const MOVES = { OPEN: takeCommissions, PAID: payCommissions, FAILED: releaseCommissions }

const moveRows = (trx: Transaction, { shopId, id }: PayoutBatchRow, { becomes, at }: BatchProcess, ids: string[]) =>
  MOVES[becomes](trx, { shopId, batchId: id, at, ids })

/** Runs a batch's remaining steps and completes it. Undefined if another run has taken it over. */
async function run(deps: ServerDeps, batch: PayoutBatchRow): Promise<Batch | undefined> {
  const process = processOf(batch)
  const shop = await findShop(deps.db.read, batch.shopId)
  if (!shop) return undefined
  const ctx = contextOf(deps, shop, process)
  const all: Run = { ctx, batch, steps: 0, longestMs: 0 }
  try {
    for await (const page of readRows(ctx, { id: batch.id, process })) {
      for (const ids of chunks(page, STEP_ROWS)) {
        await step(all, async (trx) => {
          const moved = await moveRows(trx, batch, process, ids)
          const added = process.becomes === 'OPEN' ? moved : []
          return { moved: moved.length, added, ...(process.becomes === 'PAID' && paidEvents(trx, batch, moved)) }
        })
      }
    }
    const computed = process.becomes === 'OPEN' ? await carryDebts(all) : null
    const { steps, longestMs } = all
    deps.log.info({ batchId: batch.id, becomes: process.becomes, steps, longestMs }, 'payout steps')
    return await mutate(ctx, async (trx) => {
      const current = await queries.findBatch(trx, shop.id, batch.id)
      if (current?.version !== batch.version) throw new TakenOverError()
      return complete(ctx, trx, current, { process, moved: current.movedCommissions ?? 0, computed })
    })
  } catch (error) {
    if (error instanceof TakenOverError) return undefined
    throw error
  }
}

/** Thrown to roll back a step, because another run has taken over the batch. */
class TakenOverError extends Error {}

type Amounts = { commissionAmountCents: number; taxWithheldCents: number }

interface StepResult extends Pick<Mutation<unknown>, 'extendedEvents'> {
  moved: number
  /** The commissions that the batch contains from now on. */
  added: Amounts[]
}

/** Counts this process's steps, for the operator: their number, and how long the longest one held the shop's lock. */
interface Run {
  ctx: Context
  batch: PayoutBatchRow
  steps: number
  longestMs: number
}

async function step(all: Run, work: (trx: Transaction) => Promise<StepResult>): Promise<void> {
  const { ctx, batch } = all
  if (ctx.stopping.aborted) throw storageUnavailable()
  const hasDeliveries = await ctx.db.transact(async (trx, chain) => {
    const startedAt = performance.now()
    const { moved, added, extendedEvents } = await work(trx)
    const sum = (column: keyof Amounts) => added.reduce((cents, row) => cents + row[column], 0)
    const isOurs = await queries.advanceBatch(trx, batch, {
      moved,
      claimedUntil: claimEnd(ctx),
      added: {
        commissions: added.length,
        commissionCents: sum('commissionAmountCents'),
        taxWithheldCents: sum('taxWithheldCents'),
      },
    })
    if (!isOurs) throw new TakenOverError()
    all.steps++
    all.longestMs = Math.max(all.longestMs, Math.ceil(performance.now() - startedAt))
    return enqueue(ctx, { trx, chain }, { events: [], extendedEvents })
  }, batch.shopId)
  if (hasDeliveries) ctx.wakeDispatcher()
}

/**
 * The content of a batch that takes no more commissions. Reads all its commissions, so it runs in the report worker.
 */
export const contentReport = defineReport(
  import.meta.url,
  'contentReport',
  async (
    db,
    { shopId, query: { id, periodEnd } }: { shopId: string; query: Pick<PayoutBatchRow, 'id' | 'periodEnd'> },
  ) => computeBatch(await sumBatches(db, shopId, [id]), periodEnd),
  { isLong: true },
)

/** Carries a new batch's debts forward in steps. Its totals include the debts that an earlier run carried forward. */
async function carryDebts(all: Run): Promise<ComputedBatch | null> {
  const { ctx, batch } = all
  const { id, periodEnd } = batch
  const computed = await readFrom(ctx, contentReport, { id, periodEnd })
  const debts = computed?.debts ?? []
  for (const some of chunks(debts, STEP_DEBTS)) {
    await step(all, async (trx) => {
      await insertDebts(ctx, trx, id, some)
      return { moved: 0, added: some.map(({ balancing }) => balancing) }
    })
  }
  return computed
}

interface Moved {
  process: BatchProcess
  moved: number
  /** For a new batch. */
  computed: ComputedBatch | null
}

const UNCLAIMED = { process: null, movedCommissions: null, claimedBy: null, claimedUntil: null }

/** Gives a batch whose commissions have moved its status, and records who changed it. */
async function complete(ctx: Context, trx: Transaction, batch: PayoutBatchRow, done: Moved): Promise<Mutation<Batch>> {
  const { changes, audits, event, data } = await outcomeOf(ctx, trx, batch, done)
  const after = { ...batch, ...UNCLAIMED, ...changes }
  const { id, shopId: _, version: __, ...columns } = after
  if (!(await updateIfUnchanged(trx, 'payoutBatches', batch, columns))) throw concurrentChange()
  const { previousStatus = null } = done.process
  const action = event === 'payout.failed' ? 'payout.canceled' : event
  return {
    result: toBatch(after),
    audit: [...audits, { action, subjectId: id, data }],
    events: previousStatus === after.status ? [] : [batchEvent(event, after, previousStatus)],
  }
}

async function outcomeOf(ctx: Context, trx: Transaction, batch: PayoutBatchRow, { process, moved, computed }: Moved) {
  const { becomes, at, filter, previousStatus } = process
  const { id, currency, periodStart, periodEnd } = batch
  if (becomes === 'PAID') {
    const { commissions, netPayableCents } = batch
    const changes = { status: becomes, paidAt: at, updatedAt: at }
    const audits = await discardPreparing(ctx, trx, id)
    return { changes, audits, event: 'payout.paid' as const, data: { currency, commissions, netPayableCents } }
  }
  const updatedAt = nowIso(ctx)
  if (becomes === 'FAILED') {
    // A returned amount is already payable again as an adjustment, so its commissions stay paid.
    const returned = await sumReturned(trx, ctx.shop.id, id)
    const changes = { ...returned, status: becomes, failureReason: CANCELED_REASON, updatedAt }
    const data = { previousStatus, released: moved, netPayableCents: batch.netPayableCents }
    return { changes, audits: [], event: 'payout.failed' as const, data }
  }
  // The totals were exact when it was planned, and commissions only shrink.
  if (!computed) throw new Error('The totals of a batch are not exact')
  const { totals } = computed
  const emptied = totals.commissions === 0 ? ({ status: 'FAILED', failureReason: EMPTY_BATCH_REASON } as const) : {}
  const changes = { ...totals, status: becomes, ...emptied, updatedAt }
  const data = {
    periodStart,
    periodEnd,
    ...(filter?.includeEarlier && { includeEarlier: true }),
    currency,
    commissions: totals.commissions,
    netPayableCents: totals.netPayableCents,
  }
  return { changes, audits: [], event: 'payout.created' as const, data }
}

export const processOf = ({ process }: PayoutBatchRow): BatchProcess => {
  if (process === null) throw new Error('The batch is not PROCESSING')
  return JSON.parse(process)
}

/** The context of the request that started a run, without its credential: a started run is always completed. */
function contextOf(deps: ServerDeps, shop: ShopRow, process: BatchProcess): Context {
  const { config, db, log, vault, random, stopping, wakeDispatcher, countPayments } = deps
  const { actor, requestId, traceparent, idempotency } = process
  const clock = clockOf(systemClock(deps), shop)
  return {
    ...{ config, db, log, vault, random, stopping, wakeDispatcher, countPayments, ...clock },
    ...{ shop, actor, requestId, traceparent, ...(idempotency && { idempotency }) },
  }
}

/** Claims use the server's clock, even in test shops. */
const claimEnd = (deps: ServerClock): string => new Date(systemClock(deps).now() + CLAIM_MS).toISOString()

const newClaim = (deps: ServerClock) => ({ claimedBy: registerLeaseHolder(), claimedUntil: claimEnd(deps) })

const isDead = (deps: ServerClock, { claimedBy, claimedUntil }: PayoutBatchRow): boolean =>
  (claimedUntil ?? '') <= nowIso(systemClock(deps)) || hasEnded(claimedBy ?? '')

/** Takes over a batch whose run has died, and completes it. */
async function resume(deps: ServerDeps, dead: PayoutBatchRow): Promise<void> {
  const claim = newClaim(deps)
  try {
    const isOurs = await deps.db.transact((trx) => updateIfUnchanged(trx, 'payoutBatches', dead, claim), dead.shopId)
    if (isOurs) await run(deps, { ...dead, ...claim, version: dead.version + 1 })
  } finally {
    unregisterLeaseHolder(claim.claimedBy)
  }
}

/** Completes all shops' batches whose run has died. */
export async function resumeBatches(deps: Deps): Promise<void> {
  const dead = (await queries.listProcessing(deps.db.read)).filter((batch) => isDead(deps, batch))
  await Promise.all(dead.map((batch) => bestEffort(deps.log, 'payout_steps_interrupted', () => resume(deps, batch))))
}

/** Calls {@link resumeBatches} now and every few seconds until the server stops. */
export function startPayoutProcesses(deps: Deps): void {
  const work = () => {
    if (!deps.stopping.aborted) void bestEffort(deps.log, 'payout_resume_failed', () => resumeBatches(deps))
  }
  work()
  setInterval(work, RESUME_INTERVAL_MS).unref()
}

/**
 * Finds a batch that is not being processed. Waits for its run, or completes it if the run has died.
 *
 * @throws ApiError 404 `payout_not_found`, 409 `payout_processing`.
 */
export async function awaitBatch(ctx: Context, id: string, waitMs = MAX_WAIT_MS): Promise<PayoutBatchRow> {
  const until = performance.now() + waitMs
  for (;;) {
    const batch = await queries.findBatch(ctx.db.read, ctx.shop.id, id)
    if (!batch) throw payoutNotFound()
    if (batch.status !== 'PROCESSING') return batch
    if (ctx.stopping.aborted) throw storageUnavailable()
    if (isDead(ctx, batch)) await resume(ctx, batch)
    else if (performance.now() >= until) throw payoutProcessing()
    else await sleep(WAIT_MS)
  }
}
