import { setTimeout as sleep, setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type SQLite from 'better-sqlite3'
import {
  type AuditChain,
  type AuditHead,
  NEW_HEAD,
  NO_CHAIN,
  type OnGroupCommit,
  type Transaction,
  type TransactionWork,
} from './database.ts'
import type { SqliteExecutor } from './sqlite-executor.ts'
import { isSqliteBusy } from './storage-error.ts'

interface Job {
  work: TransactionWork<unknown>
  shopId: string | undefined
  resolve: (value: never) => void
  reject: (error: unknown) => void
}

const MAX_GROUP = 64
/** How long jobs may block the event loop before it runs other requests. */
const YIELD_AFTER_MS = 10
const BUSY_TIMEOUT_MS = 5000

/** Waits for another process's write lock without blocking the event loop, unlike SQLite's busy timeout. */
async function beginOrWait(begin: SQLite.Statement): Promise<void> {
  const deadline = performance.now() + BUSY_TIMEOUT_MS
  for (let waitMs = 1; ; waitMs = Math.min(waitMs * 2, 25)) {
    try {
      begin.run()
      return
    } catch (error) {
      if (!isSqliteBusy(error) || performance.now() > deadline) throw error
    }
    await sleep(waitMs)
  }
}

interface GroupCommitOptions {
  database: SQLite.Database
  trx: Transaction
  executor: SqliteExecutor
  onGroup: OnGroupCommit
}

/** Group commit: work queued in one turn of the event loop shares one transaction and one fsync, and settles after it. */
export function createSqliteGroupCommit({ database, trx, executor, onGroup }: GroupCommitOptions) {
  // IMMEDIATE acquires the write lock first; a deferred transaction would fail midway when another process writes.
  const begin = database.prepare('begin immediate')
  const commit = database.prepare('commit')
  const rollback = database.prepare('rollback')
  const heads = new SqliteAuditHeads(database)
  const queue: Job[] = []
  let busy = false
  const idleWaiters: (() => void)[] = []

  /** Runs the jobs in one transaction. If one throws after it wrote, rolls back and returns that job; no job is settled. */
  async function commitGroup(jobs: Job[]): Promise<Job | undefined> {
    const settlements: (() => void)[] = []
    try {
      await beginOrWait(begin)
      heads.begin()
      let startedAt = performance.now()
      for (const job of jobs) {
        // Other requests read on their own connection while the transaction stays open.
        if (performance.now() - startedAt > YIELD_AFTER_MS) {
          await yieldToEventLoop()
          startedAt = performance.now()
        }
        const writesBefore = executor.writes
        try {
          const value = await job.work(trx, heads.chainOf(job.shopId))
          settlements.push(() => job.resolve(value as never))
        } catch (error) {
          // SQLite rolls back the whole transaction itself when the disk is full.
          if (executor.writes !== writesBefore || !database.inTransaction) {
            if (database.inTransaction) rollback.run()
            if (jobs.length > 1) return job
          }
          settlements.push(() => job.reject(error))
        }
      }
      if (database.inTransaction) {
        heads.store()
        commit.run()
      }
    } catch (error) {
      if (database.inTransaction) rollback.run()
      for (const job of jobs) job.reject(error)
      return
    }
    for (const settle of settlements) settle()
  }

  async function flush() {
    let jobs = queue.splice(0, MAX_GROUP)
    onGroup(jobs.length)
    const separate: Job[] = []
    for (let thrower = await commitGroup(jobs); thrower; thrower = await commitGroup(jobs)) {
      const failed = thrower
      separate.push(failed)
      jobs = jobs.filter((job) => job !== failed)
    }
    for (const job of separate) await commitGroup([job])
    if (queue.length) return void setImmediate(flush)
    busy = false
    for (const done of idleWaiters.splice(0)) done()
  }

  return {
    transact: <T>(work: TransactionWork<T>, shopId?: string) =>
      new Promise<T>((resolve, reject) => {
        queue.push({ work, shopId, resolve: resolve as (value: never) => void, reject })
        if (!busy) {
          busy = true
          setImmediate(flush)
        }
      }),
    /** Resolves when no work is queued or running. */
    idle: () => (busy ? new Promise<void>((done) => idleWaiters.push(done)) : Promise.resolve()),
  }
}

const FIND_HEAD = 'select seq, hash, "eventId" from "auditHeads" where "shopId" = ?'
const STORE_HEAD = `insert into "auditHeads" ("shopId", seq, hash, "eventId") values (?, ?, ?, ?)
  on conflict ("shopId") do update set seq = excluded.seq, hash = excluded.hash, "eventId" = excluded."eventId"`

/** The audit chain heads of the shops that one transaction changes. */
class SqliteAuditHeads {
  readonly #database: SQLite.Database
  readonly #heads = new Map<string, AuditHead>()
  readonly #moved = new Set<string>()
  #find: SQLite.Statement | undefined
  #store: SQLite.Statement | undefined

  constructor(database: SQLite.Database) {
    this.#database = database
  }

  /** Clears the cache: other processes move heads between transactions. */
  begin(): void {
    this.#heads.clear()
    this.#moved.clear()
  }

  /** Stores the heads that have moved, before the commit. */
  store(): void {
    for (const shopId of this.#moved) {
      const { seq, hash, eventId } = this.#headOf(shopId)
      this.#store ??= this.#database.prepare(STORE_HEAD)
      this.#store.run(shopId, seq, hash, eventId)
    }
  }

  chainOf(shopId: string | undefined): AuditChain {
    if (shopId === undefined) return NO_CHAIN
    return {
      append: async (write) => {
        this.#heads.set(shopId, await write(this.#headOf(shopId)))
        this.#moved.add(shopId)
      },
    }
  }

  #headOf(shopId: string): AuditHead {
    // Prepared on first use, because the table may not exist when the database is opened.
    this.#find ??= this.#database.prepare(FIND_HEAD)
    const head = this.#heads.get(shopId) ?? (this.#find.get(shopId) as AuditHead | undefined) ?? NEW_HEAD
    this.#heads.set(shopId, head)
    return head
  }
}
