import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type SQLite from 'better-sqlite3'
import { type AuditChain, type AuditHead, NO_CHAIN, type OnGroupCommit, type Transaction } from './database.ts'
import type { SqliteExecutor } from './sqlite-executor.ts'
import { isSqliteBusy } from './storage-error.ts'

type Work<T> = (trx: Transaction, chain: AuditChain) => Promise<T>
interface Job {
  work: Work<unknown>
  shopId: string | undefined
  resolve: (value: never) => void
  reject: (error: unknown) => void
}

const MAX_GROUP = 64
/** Milliseconds of work after which other requests get a turn. */
const TURN_MS = 10
const BUSY_MS = 5000

/** Another process may hold the write lock. Waiting for it here leaves the event loop free, unlike SQLite's own wait. */
async function beginOrWait(begin: SQLite.Statement): Promise<void> {
  const deadline = performance.now() + BUSY_MS
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

/** All work queued in one turn of the event loop shares one transaction and one fsync, and is answered after it. */
export function createSqliteGroupCommit({ database, trx, executor, onGroup }: GroupCommitOptions) {
  // IMMEDIATE takes the write lock at once; a deferred transaction would fail half-way when another process writes.
  const begin = database.prepare('begin immediate')
  const commit = database.prepare('commit')
  const rollback = database.prepare('rollback')
  const heads = new SqliteAuditHeads(database)
  const queue: Job[] = []
  let busy = false
  const settled: (() => void)[] = []

  /** Runs the jobs in one transaction. Returns the job that threw after it had written; nothing is kept or answered then. */
  async function attempt(jobs: Job[]): Promise<Job | undefined> {
    const answers: (() => void)[] = []
    try {
      await beginOrWait(begin)
      heads.begin()
      let startedAt = performance.now()
      for (const job of jobs) {
        // The transaction stays open meanwhile: other requests read with connections of their own.
        if (performance.now() - startedAt > TURN_MS) {
          await nextTurn()
          startedAt = performance.now()
        }
        const writesBefore = executor.writes
        try {
          const value = await job.work(trx, heads.chainOf(job.shopId))
          answers.push(() => job.resolve(value as never))
        } catch (error) {
          // SQLite ends the transaction by itself when the disk is full: then nothing of the group is left either.
          if (executor.writes !== writesBefore || !database.inTransaction) {
            if (database.inTransaction) rollback.run()
            if (jobs.length > 1) return job
          }
          answers.push(() => job.reject(error))
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
    for (const answer of answers) answer()
  }

  async function flush() {
    let jobs = queue.splice(0, MAX_GROUP)
    onGroup(jobs.length)
    const alone: Job[] = []
    for (let culprit = await attempt(jobs); culprit; culprit = await attempt(jobs)) {
      const failed = culprit
      alone.push(failed)
      jobs = jobs.filter((job) => job !== failed)
    }
    for (const job of alone) await attempt([job])
    if (queue.length) return void setImmediate(flush)
    busy = false
    for (const done of settled.splice(0)) done()
  }

  return {
    transact: <T>(work: Work<T>, shopId?: string) =>
      new Promise<T>((resolve, reject) => {
        queue.push({ work, shopId, resolve: resolve as (value: never) => void, reject })
        if (!busy) {
          busy = true
          setImmediate(flush)
        }
      }),
    /** Resolves when nothing is queued or running. */
    idle: () => (busy ? new Promise<void>((done) => settled.push(done)) : Promise.resolve()),
  }
}

const FIND_HEAD = 'select seq, hash from "auditHeads" where "shopId" = ?'
const STORE_HEAD = `insert into "auditHeads" ("shopId", seq, hash) values (?, ?, ?)
  on conflict ("shopId") do update set seq = excluded.seq, hash = excluded.hash`

/** The audit chains of the shops that one transaction works on. */
export class SqliteAuditHeads {
  readonly #database: SQLite.Database
  readonly #heads = new Map<string, AuditHead>()
  readonly #moved = new Set<string>()
  #find: SQLite.Statement | undefined
  #store: SQLite.Statement | undefined

  constructor(database: SQLite.Database) {
    this.#database = database
  }

  /** Other processes move heads between transactions. */
  begin(): void {
    this.#heads.clear()
    this.#moved.clear()
  }

  /** Stores the heads that have moved, before the commit. */
  store(): void {
    for (const shopId of this.#moved) {
      const { seq, hash } = this.#headOf(shopId)
      this.#store ??= this.#database.prepare(STORE_HEAD)
      this.#store.run(shopId, seq, hash)
    }
  }

  chainOf(shopId: string | undefined): AuditChain {
    if (shopId === undefined) return NO_CHAIN
    return {
      head: async () => this.#headOf(shopId),
      advance: (to) => {
        this.#heads.set(shopId, to)
        this.#moved.add(shopId)
      },
    }
  }

  #headOf(shopId: string): AuditHead {
    // Prepared with the first use, for the table may not be there when the database is opened.
    this.#find ??= this.#database.prepare(FIND_HEAD)
    const head = this.#heads.get(shopId) ?? (this.#find.get(shopId) as AuditHead | undefined) ?? { seq: 0, hash: '' }
    this.#heads.set(shopId, head)
    return head
  }
}
