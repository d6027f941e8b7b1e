import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { OnGroup } from './database.ts'
import { answer, type Job, runGroup, type Work } from './postgres-group.ts'
import { toStorageError } from './postgres-pool.ts'
import { PostgresSession } from './postgres-session.ts'
import { CommitOutcomeUnknownError, type StorageError } from './storage-error.ts'

const MAX_GROUP = 64
const ASKING_MS = 2000

/**
 * All work on one shop that waits in this process shares one transaction and one flush to disk, and is answered after it.
 * The shop's row in `auditHeads` makes the groups of several processes take turns: work on a shop never runs beside other
 * work on it, as on SQLite. A transaction locks one shop at most, so two of them cannot wait for each other. Work without a
 * shop has a transaction of its own.
 */
export class PostgresCommits {
  readonly #pool: pg.Pool
  readonly #onGroup: OnGroup
  readonly #lanes = new Map<string, Job[]>()
  readonly #running = new Set<Promise<void>>()

  constructor(pool: pg.Pool, onGroup: OnGroup) {
    this.#pool = pool
    this.#onGroup = onGroup
  }

  /** @throws StorageError, and what work throws. */
  transact<T>(work: Work<T>, shopId?: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const job: Job = { work, resolve: resolve as (value: never) => void, reject, isAnswered: false }
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
        jobs.filter((job) => !job.isAnswered),
        shopId,
      )
      if (!error) return
      if (isLast || !error.isLost || error instanceof CommitOutcomeUnknownError) {
        for (const job of jobs) answer(job, () => job.reject(error))
        return
      }
    }
  }

  async #tryGroup(jobs: Job[], shopId: string | undefined): Promise<StorageError | undefined> {
    let client: pg.PoolClient | undefined
    try {
      client = await this.#pool.connect()
      await runGroup(new PostgresSession(client), jobs, { shopId, wasKept: (xid) => this.#wasKept(xid) })
      client.release()
      return undefined
    } catch (error) {
      client?.release(true)
      return toStorageError(error)
    }
  }

  /** Asks again over another connection; a database that restarts is given a moment. */
  async #wasKept(xid: string): Promise<boolean | undefined> {
    const until = performance.now() + ASKING_MS
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
