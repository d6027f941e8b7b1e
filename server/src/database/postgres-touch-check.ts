import { CompiledQuery } from 'kysely'
import { describeStatement } from './postgres-executor.ts'
import type { PostgresSession, ShopJob, TracedStatement } from './postgres-session.ts'

/**
 * Verifies declared touches in tests. It replays the statements of each job of a wave twice, without the writes of the other
 * jobs and after them. A result that differs depends on another job, so the two must share a touch.
 */
export const touchCheck = {
  isEnabled: false,
  /** How many jobs got their own transaction after a shared one had failed. */
  separated: 0,
}

/** Work that ran side by side depends on each other, but declared no common touch. */
export class UndeclaredTouchError extends Error {
  constructor(sql: string) {
    super(`Work that runs side by side needs a common touch: the result of this statement depends on it. ${sql}`)
    this.name = 'UndeclaredTouchError'
  }
}

/** How many jobs of a wave are verified, spread evenly, because the cost is quadratic. */
const MAX_VERIFIED = 12

const SAVEPOINT = CompiledQuery.raw('savepoint wave')
const ROLLBACK = CompiledQuery.raw('rollback to savepoint wave')

/** Runs a wave, then verifies that none of its jobs depends on another. @throws UndeclaredTouchError */
export async function runVerified<Job extends ShopJob>(
  session: PostgresSession<Job>,
  wave: Job[],
  runWave: () => Promise<void>,
): Promise<void> {
  await session.settle()
  if (session.failure) return
  await session.execute(SAVEPOINT)
  session.trace = []
  await runWave()
  await session.settle()
  const { trace } = session
  session.trace = undefined
  if (session.failure) return
  await session.execute(ROLLBACK)
  const step = Math.ceil(wave.length / MAX_VERIFIED)
  for (const job of wave.filter((_, i) => i % step === 0)) await verify(session, trace, job)
  await replay(session, trace)
}

async function verify<Job extends ShopJob>(
  session: PostgresSession<Job>,
  trace: TracedStatement<Job>[],
  job: Job,
): Promise<void> {
  const own = trace.filter(({ owner }) => owner === job)
  const alone = await replay(session, own)
  await session.execute(ROLLBACK)
  const isWrite = ({ query }: TracedStatement<Job>) => !describeStatement(query).isRead
  await replay(
    session,
    trace.filter((one) => one.owner !== job && isWrite(one)),
  )
  const after = await replay(session, own).catch((error) => [String(error)])
  await session.execute(ROLLBACK)
  const changed = alone.findIndex((result, i) => result !== after[i])
  if (changed >= 0) throw new UndeclaredTouchError(`${own[changed]!.query.sql}: ${alone[changed]} / ${after[changed]}`)
}

/** Runs the statements again. Returns the result of each as text. */
async function replay<Job extends ShopJob>(
  session: PostgresSession<Job>,
  trace: TracedStatement<Job>[],
): Promise<string[]> {
  const results = await Promise.all(trace.map(({ query }) => session.execute(query)))
  return results.map(({ rows, numAffectedRows }) => JSON.stringify([rows, String(numAffectedRows)]))
}
