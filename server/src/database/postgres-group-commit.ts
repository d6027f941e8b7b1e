import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { OnGroupCommit, TransactionWork } from './database.ts'
import { type PostgresPool, toStorageError } from './postgres-pool.ts'
import { PostgresSession } from './postgres-session.ts'
import { runVerified, touchCheck, UndeclaredTouchError } from './postgres-touch-check.ts'
import { CommitOutcomeUnknownError, type StorageError } from './storage-error.ts'
import { planWaves, type Touches } from './touches.ts'

interface Job {
  work: TransactionWork<unknown>
  touches: Touches | undefined
  resolve: (value: never) => void
  reject: (error: unknown) => void
  isSettled: boolean
}

interface GroupOptions {
  /** The shop that the transaction locks. */
  shopId: string | undefined
  /** Whether a transaction whose connection was lost during commit was committed; undefined when unknown. */
  wasCommitted: (xid: string) => Promise<boolean | undefined>
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
 * Settles all jobs, which share one transaction. Jobs that fail after they wrote are removed and the others run again. A
 * removed job then gets a transaction of its own, where each statement is awaited, so that it sees exactly which one failed.
 * When a statement fails that several jobs share, each of them gets a transaction of its own.
 *
 * @throws StorageError when the connection is lost or the transaction could not begin; some jobs are not settled then.
 */
async function runGroup(session: PostgresSession<Job>, jobs: Job[], options: GroupOptions): Promise<void> {
  const separate: Job[] = []
  for (let group = jobs; group.length > 0; group = group.filter((job) => !separate.includes(job))) {
    const failed = await commitGroup(session, group, { ...options, isBatched: true })
    if (failed.length === 0) break
    separate.push(...failed.map(({ job }) => job))
  }
  touchCheck.separated += separate.length
  for (const job of separate) await runSeparately(session, job, options)
}

async function runSeparately(session: PostgresSession<Job>, job: Job, options: GroupOptions): Promise<void> {
  for (let tries = 1; ; tries++) {
    const [failed] = await commitGroup(session, [job], { ...options, isBatched: false })
    if (!failed) return
    if (!failed.isRetryable || tries === MAX_ATTEMPTS) return settle(job, () => job.reject(failed.error))
    await sleep(Math.random() * 20 * tries)
  }
}

/** Runs the jobs in one transaction. On failure, rolls back and returns the failed jobs; no job is settled. */
async function commitGroup(
  session: PostgresSession<Job>,
  jobs: Job[],
  { shopId, wasCommitted, isBatched }: GroupOptions & { isBatched: boolean },
): Promise<FailedJob[]> {
  session.begin({ shopId, isBatched })
  const outcomes: Outcome[] = []
  try {
    for (const wave of planWaves(jobs)) {
      const run = async () => void outcomes.push(...(await runWave(session, wave)))
      if (touchCheck.isEnabled && wave.length > 1) await runVerified(session, wave, run)
      else await run()
      if (session.failure || outcomes.some(({ failed }) => failed)) break
    }
  } catch (error) {
    if (!(error instanceof UndeclaredTouchError)) throw error
    await session.rollback()
    for (const job of jobs) settle(job, () => job.reject(error))
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
  for (const outcome of outcomes) if (!outcome.hasThrown) await session.linkAudits(outcome.job)
  return outcomes
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

async function commit(session: PostgresSession<Job>, wasCommitted: GroupOptions['wasCommitted']): Promise<boolean> {
  try {
    return await session.commit()
  } catch (cause) {
    const isCommitted = session.xid && (await wasCommitted(session.xid))
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
  // Without an owner, the transaction could not begin, for example because the shop's lock timed out.
  if (error.isLost || owners.length === 0) throw error
  const isRetryable = RETRYABLE.includes(error.code)
  return owners.map((job) => {
    const thrown = throwers.find((one) => one.job === job)
    return { job, error: thrown ? thrown.error : error, isRetryable }
  })
}

function settle(job: Job, callback: () => void): void {
  if (job.isSettled) return
  job.isSettled = true
  callback()
}

const MAX_GROUP = 64
const OUTCOME_TIMEOUT_MS = 2000

/**
 * Group commit per shop: all queued work on a shop shares one transaction and one fsync, and settles after it; work that
 * has nothing in common also shares round trips, because it runs side by side with merged statements. Locking the
 * shop's row in `auditHeads` serializes the groups of several processes. A transaction locks at most one shop, so there are
 * no deadlocks between them. Work without a shop has a transaction of its own.
 */
export class PostgresGroupCommit {
  readonly #pool: PostgresPool
  readonly #onGroup: OnGroupCommit
  readonly #queues = new Map<string, Job[]>()
  readonly #running = new Set<Promise<void>>()

  constructor(pool: PostgresPool, onGroup: OnGroupCommit) {
    this.#pool = pool
    this.#onGroup = onGroup
  }

  /** @throws StorageError, and whatever `work` throws. */
  transact<T>(work: TransactionWork<T>, shopId?: string, touches?: Touches): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const job: Job = { work, touches, resolve: resolve as (value: never) => void, reject, isSettled: false }
      if (shopId === undefined) return this.#track(this.#run([job], undefined))
      const queue = this.#queues.get(shopId)
      if (queue) return void queue.push(job)
      this.#queues.set(shopId, [job])
      this.#track(this.#runQueue(shopId))
    })
  }

  /** Resolves when no work is queued or running. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  #track(running: Promise<void>): void {
    this.#running.add(running)
    void running.finally(() => this.#running.delete(running))
  }

  async #runQueue(shopId: string): Promise<void> {
    const queue = this.#queues.get(shopId) ?? []
    // Work that is queued in the rest of this turn of the event loop joins the first group.
    await new Promise(setImmediate)
    while (queue.length > 0) await this.#run(queue.splice(0, MAX_GROUP), shopId)
    this.#queues.delete(shopId)
  }

  /** Settles every job. If the connection is lost before the commit, nothing has changed, so it retries once on another. */
  async #run(jobs: Job[], shopId: string | undefined): Promise<void> {
    this.#onGroup(jobs.length)
    for (const isLast of [false, true]) {
      const error = await this.#tryGroup(
        jobs.filter((job) => !job.isSettled),
        shopId,
      )
      if (!error) return
      if (isLast || !error.isLost || error instanceof CommitOutcomeUnknownError) {
        for (const job of jobs) settle(job, () => job.reject(error))
        return
      }
    }
  }

  async #tryGroup(jobs: Job[], shopId: string | undefined): Promise<StorageError | undefined> {
    let client: pg.PoolClient | undefined
    try {
      client = await this.#pool.connect()
      const session = new PostgresSession<Job>(client, this.#pool.beginSql)
      await runGroup(session, jobs, { shopId, wasCommitted: (xid) => this.#wasCommitted(xid) })
      client.release()
      return undefined
    } catch (error) {
      client?.release(true)
      return toStorageError(error)
    }
  }

  /** Queries the outcome over another connection; retries while the database restarts. */
  async #wasCommitted(xid: string): Promise<boolean | undefined> {
    const until = performance.now() + OUTCOME_TIMEOUT_MS
    while (performance.now() < until) {
      const status = await this.#pool.query('select pg_xact_status($1::xid8) as status', [xid]).then(
        ({ rows }) => rows[0].status,
        () => 'unreachable',
      )
      if (status === 'committed') return true
      if (status === 'aborted') return false
      if (status === null) return undefined
      await sleep(50)
    }
    return undefined
  }
}
