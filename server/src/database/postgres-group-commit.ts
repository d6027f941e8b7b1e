import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { OnGroupCommit, TransactionWork } from './database.ts'
import { type Job, runAlone, runGroup, settle } from './postgres-group.ts'
import { type PostgresPool, toStorageError } from './postgres-pool.ts'
import { type AuditTrace, PostgresSession } from './postgres-session.ts'
import { type Group, ShopQueues } from './shop-queues.ts'
import { CommitOutcomeUnknownError, StorageError } from './storage-error.ts'
import type { Touches } from './touches.ts'

interface Connection {
  client: pg.PoolClient
  session: PostgresSession<Job>
}

const OUTCOME_TIMEOUT_MS = 2000
const OUTCOME = `select pg_xact_status($1::xid8) as status, exists (select from audits
  where "shopId" = $2::text and seq = $3::integer and hash = $4::text) as "hasTrace"`
/**
 * Another shared group starts when one takes twice as long as usual, and at least this long. One at a time is large, which
 * saves statements and commits.
 */
const MIN_SLOW_MS = 20
const MAX_SLOW_MS = 200
/** How long a connection waits for the lock of one shop before all waiting shops are tried again. */
const LOCK_WAIT_MS = 50

/**
 * Group commit: queued work shares one transaction and one fsync, and settles after it; work that has nothing in common
 * also shares round trips, because it runs side by side with merged statements. Locking the rows of the shops in
 * `auditHeads` serializes the groups of several processes. A group skips shops that another process has locked. Their work
 * waits in this process: a single connection waits for one of these locks at a time, so that processes take turns. Work
 * without a shop has its own transaction.
 */
export class PostgresGroupCommit {
  readonly #pool: PostgresPool
  readonly #onGroup: OnGroupCommit
  readonly #queues = new ShopQueues()
  readonly #running = new Set<Promise<void>>()
  /** Two connections remain for locks and for work without a shop. */
  readonly #maxGroups: number
  #sharedGroups = 0
  #ownGroups = 0
  /** Shared groups that take long. */
  #slowGroups = 0
  /** A moving average of what shared groups take. */
  #usualMs = 0
  #isScheduled = false
  #isServingLocked = false

  constructor(pool: PostgresPool, onGroup: OnGroupCommit) {
    this.#pool = pool
    this.#onGroup = onGroup
    this.#maxGroups = Math.max(1, pool.options.max - 2)
  }

  /** @throws StorageError, and whatever `work` throws. */
  transact<T>(work: TransactionWork<T>, shopId?: string, touches?: Touches): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const job: Job = {
        ...{ work, shopId, touches, resolve: resolve as Job['resolve'], reject },
        ...{ isSettled: false, isAlone: false, waitsSince: undefined },
      }
      if (shopId === undefined) return this.#track(this.#runWithoutShop(job))
      this.#queues.add(shopId, job)
      if (this.#isScheduled) return
      this.#isScheduled = true
      // Work that is queued in the rest of this turn of the event loop joins the first group.
      this.#track(new Promise(setImmediate).then(() => this.#startScheduled()))
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

  #startScheduled(): void {
    this.#isScheduled = false
    this.#startGroups()
  }

  #startGroups(): void {
    while (this.#sharedGroups + this.#ownGroups < this.#maxGroups) {
      const group = this.#queues.take({
        canShare: this.#sharedGroups === this.#slowGroups,
        // Shared groups always find a connection.
        canBeOwn: this.#ownGroups < Math.max(1, this.#maxGroups - 2),
      })
      if (!group) return
      this.#track(group.isShared ? this.#runShared(group) : this.#runOwn(group))
    }
  }

  async #runShared(group: Group): Promise<void> {
    this.#sharedGroups++
    const startedAt = performance.now()
    let isSlow = false
    const timer = setTimeout(
      () => {
        isSlow = true
        this.#slowGroups++
        this.#startGroups()
      },
      Math.min(Math.max(2 * this.#usualMs, MIN_SLOW_MS), MAX_SLOW_MS),
    )
    const busy = await this.#settleGroup(group)
    clearTimeout(timer)
    this.#usualMs += (performance.now() - startedAt - this.#usualMs) / 10
    this.#sharedGroups--
    if (isSlow) this.#slowGroups--
    this.#endGroup(group, busy)
  }

  /** @param begun a connection whose transaction has locked the shop */
  async #runOwn(group: Group, begun?: Connection): Promise<void> {
    this.#ownGroups++
    const busy = await this.#settleGroup(group, begun)
    this.#ownGroups--
    this.#endGroup(group, busy)
  }

  #endGroup(group: Group, busy: string[]): void {
    this.#queues.end(group, busy)
    this.#startGroups()
    if (this.#isServingLocked || this.#queues.lockedShopIds().length === 0) return
    this.#isServingLocked = true
    this.#track(this.#serveLocked())
  }

  async #runWithoutShop(job: Job): Promise<void> {
    const group: Group = { queues: [], waves: [[job]], isShared: false }
    await this.#settleGroup(group)
    if (job.isAlone) await this.#settleGroup(group)
  }

  /**
   * Settles all jobs except those that need their own transaction and those whose shop is locked. If the connection is
   * lost before the commit, nothing has changed, so it retries once on another. Returns the locked shops.
   */
  async #settleGroup(group: Group, begun?: Connection): Promise<string[]> {
    let result = await this.#tryGroup(group, begun)
    const isRetried = result instanceof StorageError && result.isLost && !(result instanceof CommitOutcomeUnknownError)
    if (isRetried) result = await this.#tryGroup(group)
    if (!(result instanceof StorageError)) return result
    const error = result
    for (const job of group.waves.flat()) settle(job, () => job.reject(error))
    return []
  }

  async #tryGroup(group: Group, begun?: Connection): Promise<string[] | StorageError> {
    let connection = begun
    try {
      connection ??= await this.#connect()
      const { client, session } = connection
      const waves = group.waves.map((wave) => wave.filter(({ isSettled }) => !isSettled))
      const [job] = waves.flat()
      const options = { isBegun: begun !== undefined, wasCommitted: this.#wasCommitted.bind(this) }
      if (job?.isAlone) await runAlone(session, job, options)
      else await runGroup(session, waves, options)
      client.release()
      const jobs = waves.flat()
      const settled = jobs.filter(({ isSettled }) => isSettled)
      if (settled.length > 0) this.#onGroup(settled.length)
      return jobs.flatMap((one) => (one.isSettled || one.isAlone || session.holds(one) ? [] : (one.shopId ?? [])))
    } catch (error) {
      connection?.client.release(true)
      return toStorageError(error)
    }
  }

  async #connect(): Promise<Connection> {
    const client = await this.#pool.connect()
    return { client, session: new PostgresSession<Job>(client, this.#pool.beginSql) }
  }

  /** Runs work of locked shops when their locks are released, until no shop is locked. */
  async #serveLocked(): Promise<void> {
    for (;;) {
      this.#queues.rejectExpired(this.#pool.lockTimeoutMs)
      const shopIds = this.#queues.lockedShopIds()
      if (shopIds.length === 0) break
      try {
        await this.#tryLocked(shopIds)
      } catch {
        // Their next groups report the error.
        this.#queues.resume(shopIds)
      }
      this.#startGroups()
    }
    this.#isServingLocked = false
  }

  /** Resumes the shops whose locks were released; if none was, waits a moment for the shop that was tried longest ago. */
  async #tryLocked(shopIds: string[]): Promise<void> {
    const connection = await this.#connect()
    const { client, session } = connection
    try {
      const free = await session.findFreeShops(shopIds)
      this.#queues.resume(free)
      const [shopId] = shopIds
      if (free.length > 0 || shopId === undefined) return client.release()
      if (await session.beginWaiting(shopId, { waitMs: LOCK_WAIT_MS, lockTimeoutMs: this.#pool.lockTimeoutMs })) {
        return this.#track(this.#runOwn(this.#queues.takeLocked(shopId), connection))
      }
      this.#queues.postpone(shopId)
      client.release()
    } catch (error) {
      client.release(true)
      throw error
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
