import { setTimeout as sleep } from 'node:timers/promises'
import type { Transaction } from './access.ts'
import type { AuditChain } from './audit-chain.ts'
import type { PostgresSession } from './postgres-session.ts'
import { CommitOutcomeUnknownError } from './storage-error.ts'

export type Work<T> = (trx: Transaction, chain: AuditChain) => Promise<T>

export interface Job {
  work: Work<unknown>
  resolve: (value: never) => void
  reject: (error: unknown) => void
  isAnswered: boolean
}

export interface GroupOptions {
  /** Nothing else works on this shop meanwhile. */
  shopId: string | undefined
  /** Whether a transaction was kept whose connection broke during the commit; undefined when nobody can tell. */
  wasKept: (xid: string) => Promise<boolean | undefined>
}

/** Why a transaction was given up: the job at fault, and what it would be refused with. */
interface Fault {
  job: Job
  error: unknown
  isChance: boolean
}

/** Deadlocks and serialization failures are nobody's fault. */
const CHANCE = ['40001', '40P01']
const MAX_TRIES = 4

/**
 * Answers all jobs, which share one transaction. One that fails after it wrote is removed from the group, the others run again, and it
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
    if (!fault.isChance || tries === MAX_TRIES) return answer(job, () => job.reject(fault.error))
    await sleep(Math.random() * 20 * tries)
  }
}

/** One transaction. Answers what went wrong, and then nothing was kept and nobody was answered. */
async function attempt(
  session: PostgresSession,
  jobs: Job[],
  { shopId, wasKept, isEager }: GroupOptions & { isEager: boolean },
): Promise<Fault | undefined> {
  session.begin(shopId, isEager)
  const answers: (() => void)[] = []
  let thrower: { job: Job; error: unknown } | undefined
  for (const job of jobs) {
    session.owner = job
    const writesBefore = session.writes
    try {
      const value = await job.work(session.trx, session.chain)
      answers.push(() => answer(job, () => job.resolve(value as never)))
    } catch (error) {
      if (session.failure || session.writes !== writesBefore) thrower = { job, error }
      else answers.push(() => answer(job, () => job.reject(error)))
    }
    if (thrower || session.failure) break
  }
  if (thrower || session.failure) await session.rollback()
  else if (await commit(session, wasKept)) for (const give of answers) give()
  return faultOf(session, thrower)
}

async function commit(session: PostgresSession, wasKept: GroupOptions['wasKept']): Promise<boolean> {
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

function faultOf(session: PostgresSession, thrower: { job: Job; error: unknown } | undefined): Fault | undefined {
  const { failure } = session
  if (!failure) return thrower && { ...thrower, isChance: false }
  const { error, owner } = failure
  // Without an owner the transaction did not even begin, for example because the shop's lock was not to be had.
  if (error.isLost || owner === undefined) throw error
  const isOwn = thrower?.job === owner
  return { job: owner as Job, error: isOwn ? thrower?.error : error, isChance: CHANCE.includes(error.code) }
}

export function answer(job: Job, give: () => void): void {
  if (job.isAnswered) return
  job.isAnswered = true
  give()
}
