import { setTimeout as sleep } from 'node:timers/promises'
import { CompiledQuery } from 'kysely'
import type { DatabaseObserver, PoolState, Reads } from './database.ts'
import { createPostgresKysely, run, type Send } from './postgres-executor.ts'
import { type PostgresPool, poolState, toStorageError } from './postgres-pool.ts'
import { batchReads } from './postgres-read-batch.ts'
import { ReportWorkers } from './report-worker.ts'
import { isStorageError, type StorageError } from './storage-error.ts'
import type { Tables } from './tables.ts'

/** The longest time that a request waits for the replica. */
const MAX_WAIT_MS = 50
const POLL_INTERVAL_MS = 3
/** How long the position of the replica is trusted: a replica that crashed may continue from an earlier one. */
const POSITION_MAX_AGE_MS = 1000
/** How long requests do not wait for a replica that was too late, and do not use one that failed. */
const RETRY_AFTER_MS = 1000
const MAX_SHOPS = 10_000

/**
 * A position in the write-ahead log that includes the last change of a shop. Every change locks the shop's row in `auditHeads`
 * and thereby stores a new version of it, so `xmin` identifies the change. All that was acknowledged has been flushed.
 */
const FIND_POSITION = `select (select xmin::text from "auditHeads" where "shopId" = $1 order by generation desc limit 1) as version,
  pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0') as position`
/** Null on a server that is not a replica, whose data may have diverged. */
const FIND_REPLAYED = `select case when pg_is_in_recovery()
  then pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') end as position`

interface ShopPosition {
  version: string | null
  position: number
}

interface ReplicaOptions {
  primary: Reads & { send: Send }
  pool: PostgresPool
  url: string
  observer: DatabaseObserver
}

/** Reads from a replica that has caught up with the shop, and from the primary otherwise. */
export class PostgresReplica {
  readonly #primary: ReplicaOptions['primary']
  readonly #pool: PostgresPool
  readonly #reports: ReportWorkers
  readonly #onReplica: NonNullable<DatabaseObserver['onReplica']>
  readonly #reads: Reads
  readonly #positions = new Map<string, ShopPosition>()
  #replayed = 0
  #checkedAt = Number.NEGATIVE_INFINITY
  #polling: Promise<void> | undefined
  #unusableUntil = 0
  #impatientUntil = 0

  constructor({ primary, pool, url, observer: { onReplica = () => {} } }: ReplicaOptions) {
    this.#primary = primary
    this.#pool = pool
    this.#reports = new ReportWorkers(url)
    this.#onReplica = onReplica
    pool.on('remove', () => this.#forgetPosition())
    this.#reads = {
      read: createPostgresKysely<Tables>(batchReads(pool, (query) => this.#read(query))),
      runReport: (...request) =>
        this.#reports.run(...request).catch((error) => {
          if (!isStorageError(error) || ABORTED_REPORT.test(error.code)) throw error
          this.#fail({ isLost: false })
          return primary.runReport(...request)
        }),
    }
  }

  /** Returns reads that include every change of the shop that was acknowledged before the call. */
  async readsOf(shopId: string): Promise<Reads> {
    const outcome = performance.now() < this.#unusableUntil ? 'failed' : await this.#catchUp(shopId)
    this.#onReplica(outcome)
    return outcome === 'used' ? this.#reads : this.#primary
  }

  state(): PoolState {
    return poolState('replica', this.#pool)
  }

  async close(): Promise<void> {
    await this.#reports.close()
    await this.#pool.end()
  }

  async #catchUp(shopId: string): Promise<'used' | 'behind' | 'failed'> {
    const position = await this.#positionOf(shopId)
    const startedAt = performance.now()
    const until = startedAt < this.#impatientUntil ? startedAt : startedAt + MAX_WAIT_MS
    while (!this.#hasReached(position)) {
      const polling = this.#poll()
      const left = until - performance.now()
      if (left <= 0) return 'behind'
      const isOver = await Promise.race([polling.then(() => false), sleep(left, true, { ref: false })])
      if (performance.now() < this.#unusableUntil) return 'failed'
      if (this.#hasReached(position)) break
      if (isOver || until - performance.now() <= POLL_INTERVAL_MS) {
        this.#impatientUntil = performance.now() + RETRY_AFTER_MS
        return 'behind'
      }
      await sleep(POLL_INTERVAL_MS)
    }
    return 'used'
  }

  #hasReached(position: number): boolean {
    return this.#replayed >= position && performance.now() - this.#checkedAt < POSITION_MAX_AGE_MS
  }

  /** A change has a position the first time it is seen, and keeps it, so only shops that change wait for the replica. */
  async #positionOf(shopId: string): Promise<number> {
    const { rows } = await this.#primary.send<ShopPosition>(CompiledQuery.raw(FIND_POSITION, [shopId]))
    const found = rows[0]!
    const known = this.#positions.get(shopId)
    if (known && known.version === found.version) return known.position
    if (this.#positions.size >= MAX_SHOPS) this.#positions.clear()
    this.#positions.set(shopId, found)
    return found.position
  }

  /** Reads the position of the replica; concurrent requests share one query. */
  #poll(): Promise<void> {
    this.#polling ??= this.#pool
      .query(FIND_REPLAYED)
      .then(({ rows: [row] }) => {
        if (row.position === null) throw new Error('The database of DATABASE_READ_URL is not a replica')
        this.#replayed = row.position
        this.#checkedAt = performance.now()
      })
      .catch((error) => this.#fail(toStorageError(error)))
      .finally(() => {
        this.#polling = undefined
      })
    return this.#polling
  }

  /** The primary answers whatever the replica could not, such as a query that was canceled by a conflict with recovery. */
  async #read<R>(query: CompiledQuery) {
    try {
      return await run<R>(this.#pool, query)
    } catch (error) {
      this.#fail(error as StorageError)
      return this.#primary.send<R>(query)
    }
  }

  #fail({ isLost }: Pick<StorageError, 'isLost'>): void {
    this.#onReplica('failed')
    if (!isLost) return
    this.#forgetPosition()
    this.#unusableUntil = performance.now() + RETRY_AFTER_MS
  }

  #forgetPosition(): void {
    this.#checkedAt = Number.NEGATIVE_INFINITY
  }
}

/** The limits of the report thread, which are the same for the primary. */
const ABORTED_REPORT = /^(report_timeout|report_closed|queue_full)$/
