import { setTimeout as sleep } from 'node:timers/promises'
import type { TransactionWork } from './database.ts'
import type { AuditTrace, PostgresSession } from './postgres-session.ts'
import { runVerified, touchCheck, UndeclaredTouchError } from './postgres-touch-check.ts'
import { CommitOutcomeUnknownError } from './storage-error.ts'
import type { Touches } from './touches.ts'

export interface Job {
  work: TransactionWork<unknown>
  shopId: string | undefined
  touches: Touches | undefined
  resolve: (value: never) => void
  reject: (error: unknown) => void
  isSettled: boolean
  /** It failed in a transaction with others, so it gets one of its own, where each statement is awaited. */
  isAlone: boolean
  /** When it first found its shop locked by another process. */
  waitsSince: number | undefined
}

/** Whether a transaction whose connection was lost during commit was committed; undefined when unknown. */
type WasCommitted = (xid: string, trace: AuditTrace | undefined) => Promise<boolean | undefined>

interface GroupOptions {
  /** The transaction has begun. */
  isBegun: boolean
  wasCommitted: WasCommitted
}

/** A job that a transaction was rolled back for, and its error. */
interface FailedJob {
  job: Job
  error: unknown
  isRetryable: boolean
}

/** What became of a job. */
interface Outcome {
  job: Job
  /** Called after the commit. */
  settle: () => void
  hasThrown: boolean
  /** It threw after it wrote. */
  failed: FailedJob | undefined
}

/** Serialization failure and deadlock: may succeed when retried. */
const RETRYABLE = ['40001', '40P01']
const MAX_ATTEMPTS = 4

/**
 * Runs jobs in one transaction; the jobs of a wave run side by side. Jobs that fail after they wrote are marked `isAlone`,
 * and the others run again. When a statement fails that several jobs share, each of them is marked. These jobs are not
 * settled, nor are those of shops that another transaction has locked.
 *
 * @throws StorageError when the connection is lost or the transaction could not begin; some jobs are not settled then.
 */
export async function runGroup(
  session: PostgresSession<Job>,
  waves: Job[][],
  { wasCommitted, isBegun }: GroupOptions,
): Promise<void> {
  session.isBatched = true
  for (let left = waves, hasBegun = isBegun; left.length > 0; hasBegun = false) {
    if (!hasBegun) session.begin(shopsOf(left.flat()))
    const failed = await commitGroup(session, left, wasCommitted)
    for (const { job } of failed) job.isAlone = true
    touchCheck.separated += failed.length
    if (failed.length === 0) return
    left = left.map((wave) => wave.filter(({ isAlone }) => !isAlone)).filter((wave) => wave.length > 0)
  }
}

/** Runs a job in its own transaction, so that it sees exactly which of its statements failed. @throws StorageError */
export async function runAlone(
  session: PostgresSession<Job>,
  job: Job,
  { wasCommitted, isBegun }: GroupOptions,
): Promise<void> {
  session.isBatched = false
  for (let tries = 1; ; tries++) {
    if (tries > 1 || !isBegun) session.begin(shopsOf([job]))
    const [failed] = await commitGroup(session, [[job]], wasCommitted)
    if (!failed) return
    if (!failed.isRetryable || tries === MAX_ATTEMPTS) return settle(job, () => job.reject(failed.error))
    await sleep(Math.random() * 20 * tries)
  }
}

const shopsOf = (jobs: Job[]): string[] => [...new Set(jobs.flatMap(({ shopId }) => shopId ?? []))]

/** Runs the jobs in the transaction that has begun. On failure, rolls back and returns the failed jobs; no job is settled. */
async function commitGroup(
  session: PostgresSession<Job>,
  waves: Job[][],
  wasCommitted: WasCommitted,
): Promise<FailedJob[]> {
  const outcomes: Outcome[] = []
  try {
    for (const wave of waves) {
      const run = async () => void outcomes.push(...(await runWave(session, wave)))
      if (touchCheck.isEnabled && wave.length > 1) await runVerified(session, wave, run)
      else await run()
      if (session.failure || outcomes.some(({ failed }) => failed)) break
    }
  } catch (error) {
    if (!(error instanceof UndeclaredTouchError)) throw error
    await session.rollback()
    for (const job of waves.flat()) settle(job, () => job.reject(error))
    return []
  }
  const throwers = outcomes.flatMap(({ failed }) => failed ?? [])
  if (session.failure || throwers.length > 0) await session.rollback()
  else if (await commit(session, wasCommitted)) for (const outcome of outcomes) outcome.settle()
  return findFailedJobs(session, throwers)
}

/** Runs jobs side by side that share no touch, then links their audit rows in order. */
async function runWave(session: PostgresSession<Job>, wave: Job[]): Promise<Outcome[]> {
  const outcomes = await Promise.all(wave.map((job) => runJob(session, job)))
  // A failed transaction has no locks; `failure` has the error.
  await session.locked().catch(() => {})
  const held = outcomes.filter(({ job }) => session.holds(job))
  for (const outcome of held) if (!outcome.hasThrown) await session.linkAppends(outcome.job)
  return held
}

async function runJob(session: PostgresSession<Job>, job: Job): Promise<Outcome> {
  const handle = session.open(job)
  try {
    const value = await job.work(handle.trx, handle.chain)
    return { job, settle: () => settle(job, () => job.resolve(value as never)), hasThrown: false, failed: undefined }
  } catch (error) {
    const failed = session.failure || handle.hasWritten ? { job, error, isRetryable: false } : undefined
    return { job, settle: () => settle(job, () => job.reject(error)), hasThrown: true, failed }
  }
}

async function commit(session: PostgresSession<Job>, wasCommitted: WasCommitted): Promise<boolean> {
  try {
    return await session.commit()
  } catch (cause) {
    const isCommitted = session.xid && (await wasCommitted(session.xid, session.auditTrace))
    if (isCommitted) return true
    if (isCommitted === false) throw cause
    throw new CommitOutcomeUnknownError('The connection was lost during a commit', {
      code: 'commit_unknown',
      isLost: true,
      cause,
    })
  }
}

function findFailedJobs(session: PostgresSession<Job>, throwers: FailedJob[]): FailedJob[] {
  const { failure } = session
  // After a failed statement, the other jobs throw because of it.
  if (!failure) return throwers
  const { error, owners } = failure
  // Without an owner, the transaction could not begin.
  if (error.isLost || owners.length === 0) throw error
  const isRetryable = RETRYABLE.includes(error.code)
  return owners.map((job) => {
    const thrown = throwers.find((one) => one.job === job)
    return { job, error: thrown ? thrown.error : error, isRetryable }
  })
}

export function settle(job: Job, callback: () => void): void {
  if (job.isSettled) return
  job.isSettled = true
  callback()
}
