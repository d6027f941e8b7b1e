import { setTimeout as sleep } from 'node:timers/promises'
import { type Clock, clockOf, type MutationContext, nowIso, systemClock } from '../../core/context.ts'
import { hasEnded, registerLeaseHolder, unregisterLeaseHolder } from '../../core/lease-holders.ts'
import { bestEffort } from '../../core/log.ts'
import { enqueue } from '../../core/outbox.ts'
import type { AuditChain, Transaction } from '../../database/database.ts'
import { isSqlite } from '../../database/event-loop.ts'
import type { PayoutJobRow } from '../../database/tables.ts'
import { findShop } from '../accounts/queries.ts'
import { findPaidEvents } from '../commissions/event-queries.ts'
import { findJob, listJobs } from '../ledger/jobs.ts'
import { hasPendingDebts, insertPendingDebts } from './debts.ts'
import * as queries from './step-queries.ts'

/** How long a process that no longer responds keeps its lease on a batch. Each step renews it. */
const LEASE_MS = 15_000
/** How long a step should hold the shop's lock; on SQLite, it also blocks the event loop. */
const STEP_MS = { sqlite: 8, postgres: 15 }
const FIRST_STEP = 100
const MIN_STEP = 20
const MAX_STEP = 2000
/** How often an idle server looks for batches whose process has died. */
const RESUME_INTERVAL_MS = 5000
const WAIT_MS = 50

/** Sorts before every commission of a batch. */
const NEWEST: queries.BatchCursor = { happenedAt: '9999-12-31T23:59:59.999Z', id: '~' }

type JobDeps = Pick<MutationContext, 'db' | 'now' | 'newId' | 'system' | 'log' | 'stopping' | 'wakeDispatcher'>
/** The steps of one batch, with the clock of its shop. */
type StepContext = JobDeps & Pick<MutationContext, 'shop'>

/** Leases end in the time of the server, also in a test shop. */
type LeaseClock = Clock & Pick<MutationContext, 'system'>

/** A new lease. Run the job with it, which ends the lease. */
export const newLease = (deps: LeaseClock): Pick<PayoutJobRow, 'claimedBy' | 'claimedUntil'> => ({
  claimedBy: registerLeaseHolder(),
  claimedUntil: leaseEnd(deps),
})

export const leaseEnd = (deps: LeaseClock): string => new Date(systemClock(deps).now() + LEASE_MS).toISOString()

const hasExpired = (deps: LeaseClock, { claimedBy, claimedUntil }: PayoutJobRow) =>
  claimedUntil <= nowIso(systemClock(deps)) || hasEnded(claimedBy)

/** Chooses how many rows the next step changes, from how long the last one took. */
export class StepSize {
  rows = FIRST_STEP
  steps = 0
  longestMs = 0

  /** Runs a step and measures it. */
  async measure<T>(trx: Transaction, step: () => Promise<T>): Promise<T> {
    const startedAt = performance.now()
    const result = await step()
    const ms = performance.now() - startedAt
    const ratio = (isSqlite(trx) ? STEP_MS.sqlite : STEP_MS.postgres) / ms
    // Changes by a limited factor, so that a step that waited for something else does not make all others small.
    const rows = this.rows * Math.min(1.5, Math.max(0.5, ratio))
    this.rows = Math.round(Math.min(MAX_STEP, Math.max(MIN_STEP, rows)))
    this.steps++
    this.longestMs = Math.max(this.longestMs, ms)
    return result
  }

  /** Logs the run, so that an operator sees what a large batch took. */
  report({ log }: Pick<JobDeps, 'log'>, batchId: string, phase: PayoutJobRow['phase']): void {
    log.info({ batchId, phase, steps: this.steps, longestMs: Math.ceil(this.longestMs) }, 'payout steps')
  }
}

/**
 * Runs the remaining steps of a batch until none is left, another run takes the lease over, or the server stops. A batch
 * that is still being created is given up.
 */
export async function runJob(deps: JobDeps, lease: queries.Lease): Promise<void> {
  try {
    const job = await findJob(deps.db.read, lease.shopId, lease.batchId)
    const shop = await findShop(deps.db.read, lease.shopId)
    if (job?.claimedBy !== lease.claimedBy || !shop) return
    const ctx = { ...deps, ...clockOf(systemClock(deps), shop), shop }
    const phase = remainingPhase(job)
    const size = new StepSize()
    const debts = new StepSize()
    while (phase === 'ASSIGNING' && !deps.stopping.aborted && (await debtStep(ctx, job, debts)));
    let after: queries.BatchCursor | undefined = cursorOf(job)
    while (after && !deps.stopping.aborted) after = await step(ctx, { ...job, phase }, { after, size })
    if (!after) size.report(deps, job.batchId, phase)
  } finally {
    // Another run continues at once.
    unregisterLeaseHolder(lease.claimedBy)
  }
}

/** A batch whose creation was interrupted is given up. */
const remainingPhase = ({ phase }: PayoutJobRow) => (phase === 'RESERVING' ? 'UNDOING' : phase)

const cursorOf = ({ cursorAt, cursorId }: PayoutJobRow): queries.BatchCursor =>
  cursorAt === null || cursorId === null ? NEWEST : { happenedAt: cursorAt, id: cursorId }

/** Inserts the next debts of a new batch. Returns whether any are left. */
function debtStep(ctx: StepContext, job: PayoutJobRow, size: StepSize): Promise<boolean> {
  const { shopId, batchId } = job
  const change = async (trx: Transaction) => {
    const isHeld = await queries.updateJob(trx, job, { claimedUntil: leaseEnd(ctx) })
    if (!isHeld) return false
    await insertPendingDebts(ctx, trx, batchId, { limit: size.rows })
    return hasPendingDebts(trx, job)
  }
  return ctx.db.transact((trx) => size.measure(trx, () => change(trx)), shopId)
}

/**
 * Changes the next commissions. They are read before the transaction: a batch with a job gains no commissions, and commissions
 * that have left it are skipped. Returns the last one, or undefined when none are left or another run holds the lease.
 */
async function step(
  ctx: StepContext,
  job: PayoutJobRow,
  { after, size }: { after: queries.BatchCursor; size: StepSize },
): Promise<queries.BatchCursor | undefined> {
  const page = await queries.readBatchPage(ctx.db.read, job, after, size.rows)
  const last = page.at(-1)
  // In its own transaction: a read that began before the last change still finds the job.
  if (!last) {
    await ctx.db.transact((trx) => queries.deleteJob(trx, job), job.shopId)
    return undefined
  }
  const ids = page.map(({ id }) => id)
  const changes = { phase: job.phase, cursorAt: last.happenedAt, cursorId: last.id, claimedUntil: leaseEnd(ctx) }
  const change = async (trx: Transaction, chain: AuditChain) => {
    // Sent together, so that the shop is locked for one round trip.
    const [isHeld] = await Promise.all([queries.updateJob(trx, job, changes), queries.applyJob(trx, job, ids)])
    if (!isHeld) throw new LeaseLostError()
    const { shopId, batchId, changedAt: paidAt } = job
    const extendedEvents = () => findPaidEvents(trx, { shopId, batchId, paidAt }, ids)
    return job.phase === 'PAYING' && enqueue(ctx, { trx, chain }, { events: [], extendedEvents })
  }
  try {
    const hasDeliveries = await ctx.db.transact((trx, chain) => size.measure(trx, () => change(trx, chain)), job.shopId)
    if (hasDeliveries) ctx.wakeDispatcher()
    return last
  } catch (error) {
    if (error instanceof LeaseLostError) return undefined
    throw error
  }
}

/** Rolls a step back: another run has taken the job over. */
class LeaseLostError extends Error {}

/** {@link runJob} after a change that is already committed: a failure is logged, and the lease lets another run continue. */
export const tryRunJob = (deps: JobDeps, lease: queries.Lease): Promise<void> =>
  bestEffort(deps.log, 'payout_steps_interrupted', () => runJob(deps, lease))

/** Takes a job over whose lease has expired, and runs it. */
async function resumeJob(deps: JobDeps, expired: PayoutJobRow): Promise<void> {
  const lease = newLease(deps)
  const isClaimed = await deps.db.transact(async (trx) => {
    const job = await findJob(trx, expired.shopId, expired.batchId)
    if (!job || !hasExpired(deps, job)) return false
    // Creations of the same commissions wait for it from now on, instead of being rejected.
    return queries.updateJob(trx, job, { ...lease, phase: remainingPhase(job) })
  }, expired.shopId)
  if (isClaimed) await runJob(deps, { ...expired, ...lease })
  else unregisterLeaseHolder(lease.claimedBy)
}

/** Resumes the batches of all shops whose process has died or lost its database. */
export async function resumeJobs(deps: JobDeps): Promise<void> {
  const expired = (await queries.listAllJobs(deps.db.read)).filter((job) => hasExpired(deps, job))
  const resume = (job: PayoutJobRow) => bestEffort(deps.log, 'payout_steps_interrupted', () => resumeJob(deps, job))
  await Promise.all(expired.map(resume))
}

/** Calls {@link resumeJobs} now and every few seconds until the server stops. */
export function startPayoutJobs(deps: JobDeps): void {
  const work = () => {
    if (!deps.stopping.aborted) void bestEffort(deps.log, 'payout_resume_failed', () => resumeJobs(deps))
  }
  work()
  setInterval(work, RESUME_INTERVAL_MS).unref()
}

/** Waits until all debts of a new batch are inserted. Resumes what a dead process left. */
export async function awaitDebts(
  deps: JobDeps,
  { shopId, batchId }: { shopId: string; batchId: string },
): Promise<void> {
  while (!deps.stopping.aborted && (await hasPendingDebts(deps.db.read, { shopId, batchId }))) {
    const job = await findJob(deps.db.read, shopId, batchId)
    if (!job) return
    if (hasExpired(deps, job)) await resumeJob(deps, job)
    else await sleep(WAIT_MS)
  }
}

/**
 * Waits for what a new batch depends on: releases of commissions, open debts, and a creation with the same `Idempotency-Key`.
 * Resumes what a dead process left.
 */
export async function awaitJobs(deps: JobDeps, shopId: string, idempotencyKey: string | undefined): Promise<void> {
  for (;;) {
    for (const job of await listJobs(deps.db.read, shopId)) if (hasExpired(deps, job)) await resumeJob(deps, job)
    // Read again: another run may have resumed a job first, and is not done yet.
    const jobs = await listJobs(deps.db.read, shopId)
    const isAwaited = ({ phase, idempotencyKey: key }: PayoutJobRow) =>
      phase === 'UNDOING' || phase === 'RELEASING' || (idempotencyKey !== undefined && key === idempotencyKey)
    for (const { batchId, phase } of jobs) if (phase === 'ASSIGNING') await awaitDebts(deps, { shopId, batchId })
    if (!jobs.some(isAwaited) || deps.stopping.aborted) return
    await sleep(WAIT_MS)
  }
}
