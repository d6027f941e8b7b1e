import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { OnGroupCommit, TransactionWork } from './database.ts'
import { type PostgresPool, toStorageError } from './postgres-pool.ts'
import { type AuditTrace, LOCK_TIMEOUT, PostgresTransaction } from './postgres-transaction.ts'
import { CommitOutcomeUnknownError, type StorageError } from './storage-error.ts'

/** Work that waits for a transaction. */
interface Job {
  work: TransactionWork<unknown>
  shopId: string | undefined
  resolve: (value: never) => void
  reject: (error: unknown) => void
  isSettled: boolean
  /** When it first found its shop locked by another process. */
  waitsSince: number | undefined
}

/** A job that a transaction was rolled back for, and its error. */
interface FailedJob {
  job: Job
  error: unknown
}

const MAX_GROUP = 64
/** Serialization failure and deadlock: may succeed when retried. */
const RETRYABLE = ['40001', '40P01']
const MAX_ATTEMPTS = 4
const OUTCOME_TIMEOUT_MS = 2000
const OUTCOME = `select pg_xact_status($1::xid8) as status, exists (select from audits
  where "shopId" = $2::text and seq = $3::integer and hash = $4::text) as "hasTrace"`

/**
 * Group commit: what is queued for a shop shares one transaction and one fsync, runs in turn, and settles after the commit.
 * Different shops have transactions on different connections. A transaction locks the row of its shop in `auditHeads`,
 * which serializes the transactions of several processes; while another process holds the lock, other shops get a turn.
 * Work without a shop has its own transaction.
 */
export class PostgresGroupCommit {
  readonly #pool: PostgresPool
  readonly #onGroup: OnGroupCommit
  /** The jobs of each shop, the shop that has waited longest first. */
  readonly #queues = new Map<string, Job[]>()
  /** The shops whose jobs are in a transaction. */
  readonly #busy = new Set<string>()
  readonly #running = new Set<Promise<void>>()
  /** One connection remains for work without a shop. */
  readonly #maxBusy: number
  /** How many connections may wait for shops that were found locked, so that other shops find one. */
  readonly #maxWaiting: number
  #waiting = 0
  #isScheduled = false

  constructor(pool: PostgresPool, onGroup: OnGroupCommit) {
    this.#pool = pool
    this.#onGroup = onGroup
    this.#maxBusy = Math.max(1, pool.options.max - 1)
    this.#maxWaiting = Math.ceil(this.#maxBusy / 2)
  }

  /** @throws StorageError, and whatever `work` throws. */
  transact<T>(work: TransactionWork<T>, shopId?: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const job: Job = { work, shopId, resolve, reject, isSettled: false, waitsSince: undefined }
      if (shopId === undefined) return this.#track(this.#run([job]))
      this.#queues.set(shopId, [...(this.#queues.get(shopId) ?? []), job])
      if (this.#isScheduled) return
      this.#isScheduled = true
      // Work that is queued in the rest of this turn of the event loop joins the group.
      this.#track(new Promise(setImmediate).then(() => this.#start()))
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

  #start(): void {
    this.#isScheduled = false
    for (const [shopId, jobs] of this.#queues) {
      if (this.#busy.size >= this.#maxBusy) return
      if (this.#busy.has(shopId) || (isLocked(jobs) && this.#waiting >= this.#maxWaiting)) continue
      this.#track(this.#serve(shopId, jobs.splice(0, MAX_GROUP)))
    }
  }

  /** Runs some jobs of a shop. Those that found it locked by another process are queued again, behind other shops. */
  async #serve(shopId: string, jobs: Job[]): Promise<void> {
    const waiting = isLocked(jobs) ? 1 : 0
    this.#busy.add(shopId)
    this.#waiting += waiting
    await this.#run(jobs)
    this.#waiting -= waiting
    this.#busy.delete(shopId)
    const left = [...jobs.filter(({ isSettled }) => !isSettled), ...(this.#queues.get(shopId) ?? [])]
    this.#queues.delete(shopId)
    if (left.length > 0) this.#queues.set(shopId, left)
    this.#start()
  }

  /** Settles all jobs, except those whose shop is locked. */
  async #run(jobs: Job[]): Promise<void> {
    let error = await this.#tryRun(jobs)
    // Nothing has changed when the connection is lost before the commit.
    if (error?.isLost && !(error instanceof CommitOutcomeUnknownError)) error = await this.#tryRun(jobs)
    if (error) for (const job of jobs) settle(job, () => job.reject(error))
  }

  /** Returns an error that concerns all jobs that are not settled. */
  async #tryRun(jobs: Job[]): Promise<StorageError | undefined> {
    let client: pg.PoolClient | undefined
    try {
      client = await this.#pool.connect()
      await this.#runOn(
        client,
        jobs.filter(({ isSettled }) => !isSettled),
      )
      client.release()
      return undefined
    } catch (error) {
      client?.release(true)
      return toStorageError(error)
    }
  }

  /** Jobs that fail after they wrote are repeated alone, where each statement is awaited, after the others were repeated without them. */
  async #runOn(client: pg.PoolClient, jobs: Job[]): Promise<void> {
    const separate: Job[] = []
    for (let group = jobs; group.length > 0; ) {
      const failed = await this.#commit(client, group, true)
      if (!failed) break
      separate.push(failed.job)
      group = group.filter((job) => job !== failed.job)
    }
    for (const job of separate) await this.#runAlone(client, job)
  }

  async #runAlone(client: pg.PoolClient, job: Job): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const failed = await this.#commit(client, [job], false)
      if (!failed) return
      const { code } = failed.error as { code?: string }
      if (attempt === MAX_ATTEMPTS || !RETRYABLE.includes(code ?? ''))
        return settle(job, () => job.reject(failed.error))
      await sleep(Math.random() * 20 * attempt)
    }
  }

  /**
   * Runs the jobs in turn in one transaction, and settles them after its commit. Returns the job that it was rolled back for;
   * no job is settled then, or when another process has locked the shop.
   *
   * @throws StorageError
   */
  async #commit(client: pg.PoolClient, jobs: Job[], isPipelined: boolean): Promise<FailedJob | undefined> {
    const { beginSql, lockTimeoutMs } = this.#pool
    const { shopId } = jobs[0]!
    const transaction = new PostgresTransaction<Job>(client, { beginSql, lockTimeoutMs, shopId, isPipelined })
    const settlements: (() => void)[] = []
    let thrown: FailedJob | undefined
    for (const job of jobs) {
      transaction.owner = job
      const writesBefore = transaction.writes
      try {
        const value = await job.work(transaction.trx, transaction.chain)
        settlements.push(() => settle(job, () => job.resolve(value as never)))
      } catch (error) {
        if (transaction.writes === writesBefore) settlements.push(() => settle(job, () => job.reject(error)))
        else thrown = { job, error }
      }
      if (thrown || transaction.failure) break
    }
    if (thrown || transaction.failure) await transaction.rollback()
    else if (await this.#isCommitted(transaction)) {
      this.#onGroup(jobs.length)
      for (const settleJob of settlements) settleJob()
      return undefined
    }
    const { failure } = transaction
    if (!failure) return thrown
    const { error, owner } = failure
    if (error.isLost) throw error
    // After a failed statement, the job throws because of it, unless it knows better.
    if (owner) return { job: owner, error: thrown?.job === owner ? thrown.error : error }
    if (error.code !== LOCK_TIMEOUT) throw error
    this.#wait(jobs, error)
    return undefined
  }

  /** Rejects jobs that have waited too long for another process; the others wait on. */
  #wait(jobs: Job[], error: StorageError): void {
    const now = performance.now()
    const { lockTimeoutMs } = this.#pool
    for (const job of jobs) {
      job.waitsSince ??= now
      if (lockTimeoutMs > 0 && now - job.waitsSince >= lockTimeoutMs) settle(job, () => job.reject(error))
    }
  }

  async #isCommitted(transaction: PostgresTransaction<Job>): Promise<boolean> {
    try {
      return await transaction.commit()
    } catch (cause) {
      const { xid, auditTrace } = transaction
      const isCommitted = xid && (await this.#wasCommitted(xid, auditTrace))
      if (isCommitted) return true
      if (isCommitted === false) throw cause
      throw new CommitOutcomeUnknownError('The connection was lost during a commit', {
        code: 'commit_unknown',
        isLost: true,
        cause,
      })
    }
  }

  /**
   * Queries the outcome over another connection; retries while the database restarts. After a crash, PostgreSQL assigns the
   * ids of lost transactions again, so a committed id counts only with an audit row that this transaction wrote.
   */
  async #wasCommitted(xid: string, trace: AuditTrace | undefined): Promise<boolean | undefined> {
    const until = performance.now() + OUTCOME_TIMEOUT_MS
    const values = [xid, trace?.shopId, trace?.seq, trace?.hash]
    let wasMissing = false
    while (performance.now() < until) {
      const found = await this.#pool.query(OUTCOME, values).then(
        ({ rows }) => rows[0],
        () => undefined,
      )
      if (found?.status === 'committed' && trace) {
        // The commit may be newer than the snapshot of the first query.
        if (found.hasTrace || wasMissing) return found.hasTrace
        wasMissing = true
        continue
      }
      if (found?.status === 'aborted') return false
      if (found && found.status !== 'in progress') return undefined
      await sleep(50)
    }
    return undefined
  }
}

/** Whether another process had locked the shop when its jobs were tried. */
const isLocked = ([job]: Job[]): boolean => job?.waitsSince !== undefined

function settle(job: Job, callback: () => void): void {
  if (job.isSettled) return
  job.isSettled = true
  callback()
}
