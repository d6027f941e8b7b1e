import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type SQLite from 'better-sqlite3'
import type { Transaction } from './access.ts'
import type { AuditChain } from './audit-chain.ts'
import type { OnGroup } from './database.ts'
import type { SqliteExecutor } from './sqlite-executor.ts'
import { SqliteHeads } from './sqlite-heads.ts'
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
  onGroup: OnGroup
}

/** All work queued in one turn of the event loop shares one transaction and one fsync, and is answered after it. */
export function groupCommit({ database, trx, executor, onGroup }: GroupCommitOptions) {
  // IMMEDIATE takes the write lock at once; a deferred transaction would fail half-way when another process writes.
  const begin = database.prepare('begin immediate')
  const commit = database.prepare('commit')
  const rollback = database.prepare('rollback')
  const heads = new SqliteHeads(database)
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
