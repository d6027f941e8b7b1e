import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { OnGroupCommit, TransactionWork } from './database.ts'
import { type PostgresPool, toStorageError } from './postgres-pool.ts'
import { type AuditTrace, LOCK_TIMEOUT, type OpenWork, PostgresTransaction } from './postgres-transaction.ts'
import { CommitOutcomeUnknownError, StorageError } from './storage-error.ts'

/** Work waiting for a transaction. */
interface Job {
  work: TransactionWork<unknown>
  shopId: string | undefined
  resolve: (value: never) => void
  reject: (error: unknown) => void
  queuedAt: number
  isSettled: boolean
}

/** A shop's jobs. */
interface ShopQueue {
  jobs: Job[]
  /** Whether some of its jobs are in a transaction. */
  isBusy: boolean
  /** Since when another process has the shop's lock. */
  lockedSince: number | undefined
}

/** The job that caused a rollback, and its error. */
interface FailedJob {
  job: Job
  error: unknown
}

interface Connection {
  client: pg.PoolClient
  isPrepared: boolean
}

/** Runs a query on a connection that the transactions do not use. */
type Ask = (text: string, values: unknown[]) => Promise<{ rows: { status: string; hasTrace: boolean }[] }>

const MAX_GROUP = 64
/**
 * After this many failures in a group, the rest runs one by one, so that each failure does not repeat the whole group.
 */
const MAX_FAILURES = 3
/** Serialization failure and deadlock: may succeed when retried. */
const RETRYABLE = ['40001', '40P01']
const MAX_ATTEMPTS = 4
const OUTCOME_TIMEOUT_MS = 2000
const OUTCOME = `select pg_xact_status($1::xid8) as status, exists (select from audits
  where "shopId" = $2::text and seq = $3::integer and hash = $4::text) as "hasTrace"`

/**
 * Group commit: work queued for a shop shares one transaction and one fsync, runs in turn, and settles after the
 * commit. Different shops use different connections. A transaction locks its shop's row in `auditHeads`, which
 * serializes transactions across processes. While another process holds the lock, other shops get a turn. Work without
 * a shop has its own transaction.
 */
export class PostgresGroupCommit {
  readonly #pool: PostgresPool
  readonly #onGroup: OnGroupCommit
  readonly #ask: Ask
  /** The longest-waiting shop comes first. */
  readonly #queues = new Map<string, ShopQueue>()
  readonly #running = new Set<Promise<void>>()
  /** One connection is reserved for work without a shop. */
  readonly #maxBusy: number
  /** How many connections may wait for locked shops, so that other shops find a free one. */
  readonly #maxWaiting: number
  #busy = 0
  #waiting = 0
  #isScheduled = false

  constructor(pool: PostgresPool, { onGroup, ask }: { onGroup: OnGroupCommit; ask: Ask }) {
    this.#pool = pool
    this.#onGroup = onGroup
    this.#ask = ask
    this.#maxBusy = Math.max(1, pool.options.max - 1)
    this.#maxWaiting = Math.ceil(this.#maxBusy / 2)
  }

  /** @throws StorageError, and whatever `work` throws. */
  transact<T>(work: TransactionWork<T>, shopId?: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const job: Job = { work, shopId, resolve, reject, queuedAt: performance.now(), isSettled: false }
      if (shopId === undefined) return this.#track(this.#run([job]))
      const queue = this.#queues.get(shopId)
      if (queue) queue.jobs.push(job)
      else this.#queues.set(shopId, { jobs: [job], isBusy: false, lockedSince: undefined })
      if (this.#isScheduled) return
      this.#isScheduled = true
      // Work queued during the rest of this turn of the event loop joins the group.
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
    for (const [shopId, queue] of this.#queues) {
      if (this.#busy >= this.#maxBusy) return
      const mustWait = queue.lockedSince !== undefined && this.#waiting >= this.#maxWaiting
      if (!queue.isBusy && !mustWait) this.#track(this.#serve(shopId, queue))
    }
  }

  /** Runs some of a shop's jobs. If another process has locked the shop, they are queued again, behind other shops. */
  async #serve(shopId: string, queue: ShopQueue): Promise<void> {
    const jobs = queue.jobs.splice(0, MAX_GROUP)
    const waiting = queue.lockedSince === undefined ? 0 : 1
    queue.isBusy = true
    this.#busy++
    this.#waiting += waiting
    await this.#run(jobs)
    this.#waiting -= waiting
    this.#busy--
    queue.isBusy = false
    const left = jobs.filter(({ isSettled }) => !isSettled)
    queue.jobs = left.length > 0 ? [...left, ...queue.jobs] : queue.jobs
    queue.lockedSince = left.length > 0 ? (queue.lockedSince ?? performance.now()) : undefined
    this.#rejectExpired(queue)
    this.#queues.delete(shopId)
    if (queue.jobs.length > 0) this.#queues.set(shopId, queue)
    this.#start()
  }

  /** Rejects jobs that have waited too long for another process. */
  #rejectExpired({ jobs, lockedSince }: ShopQueue): void {
    const { lockTimeoutMs } = this.#pool
    if (lockedSince === undefined || lockTimeoutMs === 0) return
    const now = performance.now()
    const isExpired = ({ queuedAt }: Job) => now - Math.max(queuedAt, lockedSince) >= lockTimeoutMs
    const error = new StorageError('The lock of the shop was not released in time', {
      code: LOCK_TIMEOUT,
      isLost: false,
    })
    for (const job of jobs.filter(isExpired)) settle(job, () => job.reject(error))
    jobs.splice(0, jobs.length, ...jobs.filter(({ isSettled }) => !isSettled))
  }

  /** Settles all jobs, except those whose shop is locked. */
  async #run(jobs: Job[]): Promise<void> {
    let error = await this.#tryRun(jobs, true)
    // Nothing has changed when the connection is lost before the commit. After a migration, every connection has prepared
    // statements whose columns have changed, so none is used.
    if (error?.isLost) error = await this.#tryRun(jobs, false)
    if (error) for (const job of jobs) settle(job, () => job.reject(error))
  }

  /** Returns an error that applies to all unsettled jobs. */
  async #tryRun(jobs: Job[], isPrepared: boolean): Promise<StorageError | undefined> {
    let client: pg.PoolClient | undefined
    try {
      client = await this.#pool.connect()
      await this.#runOn(
        { client, isPrepared },
        jobs.filter(({ isSettled }) => !isSettled),
      )
      client.release()
      return undefined
    } catch (error) {
      client?.release(true)
      return toStorageError(error)
    }
  }

  /** Jobs that failed after changing something run again alone, after the others, with each statement awaited. */
  async #runOn(on: Connection, jobs: Job[]): Promise<void> {
    const separate: Job[] = []
    let group = jobs
    while (group.length > 0 && separate.length < MAX_FAILURES) {
      const failed = await this.#commit(on, group, true)
      if (!failed) group = []
      else {
        separate.push(failed.job)
        group = group.filter((job) => job !== failed.job)
      }
    }
    for (const job of [...group, ...separate]) await this.#runAlone(on, job)
  }

  async #runAlone(on: Connection, job: Job): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const failed = await this.#commit(on, [job], false)
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
  async #commit({ client, isPrepared }: Connection, jobs: Job[], isPipelined: boolean): Promise<FailedJob | undefined> {
    const { beginSql, lockTimeoutMs } = this.#pool
    const { shopId } = jobs[0]!
    const transaction = new PostgresTransaction(client, {
      ...{ beginSql, lockTimeoutMs, shopId },
      ...{ isPipelined, isPrepared },
    })
    const jobOf = new Map<OpenWork, Job>()
    const settlements: (() => void)[] = []
    let thrown: FailedJob | undefined
    for (const job of jobs) {
      const open = transaction.open()
      jobOf.set(open, job)
      try {
        const value = await job.work(open.trx, open.chain)
        settlements.push(() => settle(job, () => job.resolve(value as never)))
      } catch (error) {
        const hasChanged = await open.hasChanged()
        if (hasChanged || transaction.failure) thrown = { job, error }
        else settlements.push(() => settle(job, () => job.reject(error)))
      } finally {
        open.end()
      }
      if (thrown || transaction.failure) break
    }
    if (thrown || transaction.failure) await transaction.rollback()
    else if (await this.#isCommitted(transaction, jobs)) {
      for (const settleJob of settlements) settleJob()
      this.#onGroup(jobs.length)
      return undefined
    }
    const { failure } = transaction
    if (!failure) return thrown
    const { error, work } = failure
    if (error.isLost) throw error
    const job = work && jobOf.get(work)
    // After a failed statement, the job fails as well, unless it handled the error.
    if (job) return { job, error: thrown?.job === job ? thrown.error : error }
    if (error.code === LOCK_TIMEOUT) return undefined
    throw error
  }

  /** If the outcome stays unknown, rejects this transaction's jobs with the error. @throws StorageError */
  async #isCommitted(transaction: PostgresTransaction, jobs: Job[]): Promise<boolean> {
    try {
      return await transaction.commit()
    } catch (cause) {
      const { xid, auditTrace } = transaction
      const isCommitted = xid === undefined ? undefined : await this.#wasCommitted(xid, auditTrace)
      if (isCommitted) return true
      if (isCommitted === undefined) {
        const details = { code: 'commit_unknown', isLost: true, cause }
        const error = new CommitOutcomeUnknownError('The connection was lost during a commit', details)
        for (const job of jobs) settle(job, () => job.reject(error))
      }
      throw cause
    }
  }

  /**
   * Queries the outcome over another connection, and retries while the database restarts. After a crash, PostgreSQL
   * assigns the IDs of lost transactions again, so a committed ID counts only with an audit row that this transaction
   * wrote.
   */
  async #wasCommitted(xid: string, trace: AuditTrace | undefined): Promise<boolean | undefined> {
    const until = performance.now() + OUTCOME_TIMEOUT_MS
    const values = [xid, trace?.shopId, trace?.seq, trace?.hash]
    let wasMissing = false
    while (performance.now() < until) {
      const outcome = await this.#ask(OUTCOME, values).then(
        ({ rows }) => rows[0],
        () => undefined,
      )
      if (outcome?.status === 'committed' && trace) {
        // The commit may be newer than the snapshot of the first query.
        if (outcome.hasTrace || wasMissing) return outcome.hasTrace
        wasMissing = true
        continue
      }
      if (outcome?.status === 'aborted') return false
      if (outcome && outcome.status !== 'in progress') return undefined
      await sleep(50)
    }
    return undefined
  }
}

function settle(job: Job, callback: () => void): void {
  if (job.isSettled) return
  job.isSettled = true
  callback()
}
