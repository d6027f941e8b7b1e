import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { AuditChain, OnGroupCommit, Transaction } from './database.ts'
import { toStorageError } from './postgres-pool.ts'
import { PostgresSession } from './postgres-session.ts'
import { CommitOutcomeUnknownError, type StorageError } from './storage-error.ts'

export type Work<T> = (trx: Transaction, chain: AuditChain) => Promise<T>

export interface Job {
  work: Work<unknown>
  resolve: (value: never) => void
  reject: (error: unknown) => void
  isSettled: boolean
}

export interface GroupOptions {
  /** Nothing else works on this shop meanwhile. */
  shopId: string | undefined
  /** Whether a transaction was kept whose connection broke during the commit; undefined when nobody can tell. */
  wasCommitted: (xid: string) => Promise<boolean | undefined>
}

/** Why a transaction was given up: the job at fault, and what it would be refused with. */
interface Failure {
  job: Job
  error: unknown
  isRetryable: boolean
}

/** Deadlocks and serialization failures are nobody's fault. */
const RETRYABLE = ['40001', '40P01']
const MAX_ATTEMPTS = 4

/**
 * Answers all jobs, which share one transaction. One that fails after it wrote is set aside, the others run again, and it
 * gets a transaction of its own, where its statements are answered one by one and it may learn what exactly failed.
 *
 * @throws StorageError when the connection is gone, or the transaction could not begin; some jobs are unanswered then.
 */
export async function runGroup(session: PostgresSession, jobs: Job[], options: GroupOptions): Promise<void> {
  const alone: Job[] = []
  for (let group = jobs; group.length > 0; group = group.filter((job) => !alone.includes(job))) {
    const fault = await attempt(session, group, { ...options, isEager: true })
    if (!fault) break
    alone.push(fault.job)
  }
  for (const job of alone) await runAlone(session, job, options)
}

async function runAlone(session: PostgresSession, job: Job, options: GroupOptions): Promise<void> {
  for (let tries = 1; ; tries++) {
    const fault = await attempt(session, [job], { ...options, isEager: false })
    if (!fault) return
    if (!fault.isRetryable || tries === MAX_ATTEMPTS) return settle(job, () => job.reject(fault.error))
    await sleep(Math.random() * 20 * tries)
  }
}

/** One transaction. Answers what went wrong, and then nothing was kept and nobody was answered. */
async function attempt(
  session: PostgresSession,
  jobs: Job[],
  { shopId, wasCommitted: wasKept, isEager }: GroupOptions & { isEager: boolean },
): Promise<Failure | undefined> {
  session.begin(shopId, isEager)
  const answers: (() => void)[] = []
  let thrower: { job: Job; error: unknown } | undefined
  for (const job of jobs) {
    session.owner = job
    const writesBefore = session.writes
    try {
      const value = await job.work(session.trx, session.chain)
      answers.push(() => settle(job, () => job.resolve(value as never)))
    } catch (error) {
      if (session.failure || session.writes !== writesBefore) thrower = { job, error }
      else answers.push(() => settle(job, () => job.reject(error)))
    }
    if (thrower || session.failure) break
  }
  if (thrower || session.failure) await session.rollback()
  else if (await commit(session, wasKept)) for (const give of answers) give()
  return findFailure(session, thrower)
}

async function commit(session: PostgresSession, wasKept: GroupOptions['wasCommitted']): Promise<boolean> {
  try {
    return await session.commit()
  } catch (cause) {
    const kept = session.xid && (await wasKept(session.xid))
    if (kept) return true
    if (kept === false) throw cause
    throw new CommitOutcomeUnknownError('The connection broke during a commit', {
      code: 'commit_unknown',
      isLost: true,
      cause,
    })
  }
}

function findFailure(session: PostgresSession, thrower: { job: Job; error: unknown } | undefined): Failure | undefined {
  const { failure } = session
  if (!failure) return thrower && { ...thrower, isRetryable: false }
  const { error, owner } = failure
  // Without an owner the transaction did not even begin, for example because the shop's lock was not to be had.
  if (error.isLost || owner === undefined) throw error
  const isOwn = thrower?.job === owner
  return { job: owner as Job, error: isOwn ? thrower?.error : error, isRetryable: RETRYABLE.includes(error.code) }
}

export function settle(job: Job, give: () => void): void {
  if (job.isSettled) return
  job.isSettled = true
  give()
}

const MAX_GROUP = 64
const OUTCOME_TIMEOUT_MS = 2000

/**
 * All work on one shop that waits in this process shares one transaction and one flush to disk, and is answered after it.
 * The shop's row in `auditHeads` makes the groups of several processes take turns: work on a shop never runs beside other
 * work on it, as on SQLite. A transaction locks one shop at most, so two of them cannot wait for each other. Work without a
 * shop has a transaction of its own.
 */
export class PostgresGroupCommit {
  readonly #pool: pg.Pool
  readonly #onGroup: OnGroupCommit
  readonly #lanes = new Map<string, Job[]>()
  readonly #running = new Set<Promise<void>>()

  constructor(pool: pg.Pool, onGroup: OnGroupCommit) {
    this.#pool = pool
    this.#onGroup = onGroup
  }

  /** @throws StorageError, and what work throws. */
  transact<T>(work: Work<T>, shopId?: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const job: Job = { work, resolve: resolve as (value: never) => void, reject, isSettled: false }
      if (shopId === undefined) return this.#track(this.#run([job], undefined))
      const lane = this.#lanes.get(shopId)
      if (lane) return void lane.push(job)
      this.#lanes.set(shopId, [job])
      this.#track(this.#runLane(shopId))
    })
  }

  /** Resolves when nothing waits or runs. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  #track(running: Promise<void>): void {
    this.#running.add(running)
    void running.finally(() => this.#running.delete(running))
  }

  async #runLane(shopId: string): Promise<void> {
    const lane = this.#lanes.get(shopId) ?? []
    // What the rest of this turn of the event loop brings joins the first group.
    await new Promise(setImmediate)
    while (lane.length > 0) await this.#run(lane.splice(0, MAX_GROUP), shopId)
    this.#lanes.delete(shopId)
  }

  /** Answers every job. A connection that broke before the commit has changed nothing, so the jobs get another one, once. */
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
      await runGroup(new PostgresSession(client), jobs, { shopId, wasCommitted: (xid) => this.#wasKept(xid) })
      client.release()
      return undefined
    } catch (error) {
      client?.release(true)
      return toStorageError(error)
    }
  }

  /** Asks again over another connection; a database that restarts is given a moment. */
  async #wasKept(xid: string): Promise<boolean | undefined> {
    const until = performance.now() + OUTCOME_TIMEOUT_MS
    while (performance.now() < until) {
      const status = await this.#pool.query('select pg_xact_status($1::xid8) as status', [xid]).then(
        ({ rows }) => rows[0].status,
        () => 'unknown yet',
      )
      if (status === 'committed') return true
      if (status === 'aborted') return false
      if (status === null) return undefined
      await sleep(50)
    }
    return undefined
  }
}
