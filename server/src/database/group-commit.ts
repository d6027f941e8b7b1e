import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type SQLite from 'better-sqlite3'
import type { Kysely } from 'kysely'
import type { OnGroup } from './database.ts'
import { Turns } from './fair-queue.ts'
import type { SqliteExecutor } from './sqlite-executor.ts'
import { isSqliteBusy } from './storage-error.ts'
import type { Tables } from './tables.ts'

type Work<T> = (trx: Kysely<Tables>) => Promise<T>
interface Job {
  work: Work<unknown>
  resolve: (value: never) => void
  reject: (error: unknown) => void
}

/** A job that threw after it had written. */
interface Fault {
  job: Job
  error: unknown
}

const MAX_GROUP = 64
/** Milliseconds of work after which other requests get a turn. */
const TURN_MS = 10
/** A group whose jobs take longer than this on average ends after a turn, so that what is queued does not wait for all of it. */
const SLOW_JOB_MS = 1
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
  trx: Kysely<Tables>
  executor: SqliteExecutor
  onGroup: OnGroup
}

/**
 * Work that is queued together shares one transaction and one fsync, and is answered after it. Shops take turns, so that
 * one with much to write does not hold up the others.
 */
export function groupCommit({ database, trx, executor, onGroup }: GroupCommitOptions) {
  // IMMEDIATE takes the write lock at once; a deferred transaction would fail half-way when another process writes.
  const begin = database.prepare('begin immediate')
  const commit = database.prepare('commit')
  const rollback = database.prepare('rollback')
  const queue = new Turns<Job>(Number.POSITIVE_INFINITY)
  let busy = false
  const settled: (() => void)[] = []

  /** Takes what is queued, and what is queued meanwhile, into a group. */
  function* takeInto(group: Job[]): Generator<Job> {
    const startedAt = performance.now()
    while (group.length < MAX_GROUP) {
      const ms = performance.now() - startedAt
      if (ms > TURN_MS && ms > SLOW_JOB_MS * group.length) return
      const job = queue.take()
      if (!job) return
      group.push(job)
      yield job
    }
  }

  /** Runs the jobs in one transaction. Returns the one that threw after it had written; nothing is kept or answered then. */
  async function attempt(jobs: Iterable<Job>): Promise<Fault | undefined> {
    const tried: Job[] = []
    const answers: (() => void)[] = []
    try {
      await beginOrWait(begin)
      let startedAt = performance.now()
      for (const job of jobs) {
        // The transaction stays open meanwhile: other requests read with connections of their own.
        if (performance.now() - startedAt > TURN_MS) {
          await nextTurn()
          startedAt = performance.now()
        }
        tried.push(job)
        const writesBefore = executor.writes
        try {
          const value = await job.work(trx)
          answers.push(() => job.resolve(value as never))
        } catch (error) {
          // SQLite ends the transaction by itself when the disk is full: then nothing of the group is left either.
          if (executor.writes !== writesBefore || !database.inTransaction) {
            if (database.inTransaction) rollback.run()
            return { job, error }
          }
          answers.push(() => job.reject(error))
        }
      }
      if (database.inTransaction) commit.run()
    } catch (error) {
      if (database.inTransaction) rollback.run()
      for (const job of [...tried, ...jobs]) job.reject(error)
      return
    }
    for (const answer of answers) answer()
  }

  async function flush() {
    const group: Job[] = []
    const faults: Fault[] = []
    let fault = await attempt(takeInto(group))
    onGroup(group.length)
    const isAlone = group.length === 1
    while (fault) {
      const failed = fault.job
      faults.push(fault)
      group.splice(group.indexOf(failed), 1)
      fault = group.length > 0 ? await attempt(group) : undefined
    }
    for (const { job, error } of faults) {
      const again = isAlone ? { job, error } : await attempt([job])
      again?.job.reject(again.error)
    }
    if (!queue.isEmpty) return void setImmediate(flush)
    busy = false
    for (const done of settled.splice(0)) done()
  }

  return {
    transact: <T>(work: Work<T>, shopId = '') =>
      new Promise<T>((resolve, reject) => {
        queue.add(shopId, { work, resolve: resolve as (value: never) => void, reject })
        if (!busy) {
          busy = true
          setImmediate(flush)
        }
      }),
    /** Resolves when nothing is queued or running. */
    idle: () => (busy ? new Promise<void>((done) => settled.push(done)) : Promise.resolve()),
  }
}
