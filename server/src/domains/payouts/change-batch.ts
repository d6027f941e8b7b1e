import { concurrentChange } from '../../contract/errors.ts'
import type { Context } from '../../core/context.ts'
import { type Mutation, mutate } from '../../core/mutate.ts'
import type { Transaction } from '../../database/database.ts'
import type { PayoutBatchRow } from '../../database/tables.ts'
import { findJob } from '../ledger/jobs.ts'
import { MAX_AT_ONCE } from './batch.ts'
import { hasPendingDebts } from './debts.ts'
import { awaitDebts, newLease, tryRunJob } from './jobs.ts'
import { insertJob } from './step-queries.ts'

/** Replaces the steps that a large batch still needs. Returns false for a small one. */
type ScheduleSteps = (phase: SteppedPhase, changedAt: string) => Promise<boolean>
type SteppedPhase = 'PAYING' | 'RELEASING'

/** Changes a batch in one transaction, and the commissions of a large one in steps after it. */
export async function changeBatch<T>(
  ctx: Context,
  { id: batchId, commissions }: PayoutBatchRow,
  work: (trx: Transaction, scheduleSteps: ScheduleSteps) => Promise<Mutation<T>>,
): Promise<T> {
  const key = { shopId: ctx.shop.id, batchId }
  await awaitDebts(ctx, key)
  let lease: ReturnType<typeof newLease> | undefined
  const scheduleSteps = async (trx: Transaction, phase: SteppedPhase, changedAt: string): Promise<boolean> => {
    if (commissions <= MAX_AT_ONCE && !(await findJob(trx, key.shopId, batchId))) return false
    lease ??= newLease(ctx)
    const start = { filter: null, idempotencyKey: null, cursorAt: null, cursorId: null }
    await insertJob(trx, { ...key, ...lease, ...start, phase, changedAt })
    return true
  }
  try {
    return await mutate(ctx, async (trx) => {
      if (await hasPendingDebts(trx, key)) throw concurrentChange()
      return work(trx, (phase, changedAt) => scheduleSteps(trx, phase, changedAt))
    })
  } finally {
    if (lease) await tryRunJob(ctx, { ...key, ...lease })
  }
}
