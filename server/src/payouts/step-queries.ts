import { sql } from 'kysely'
import { PHASE_STATUSES } from '../commissions/job-queries.ts'
import { withoutIndex } from '../core/queries.ts'
import type { Reader, Transaction } from '../database/database.ts'
import { isSqlite } from '../database/event-loop.ts'
import type { CommissionRow, PayoutJobRow, ReservationChangeRow } from '../database/tables.ts'
import { APPROVED } from './queries.ts'

const hasId = (db: Reader, ids: string[]) =>
  isSqlite(db)
    ? sql<boolean>`id in (select value from json_each(${JSON.stringify(ids)}))`
    : sql<boolean>`id = any(${ids}::text[])`

/** A commission that was added to a batch. */
export type Reserved = Pick<
  CommissionRow,
  'affiliateId' | 'programId' | 'currency' | 'commissionAmountCents' | 'taxWithheldCents'
>

/**
 * Adds those of these commissions to a batch that are still approved and in none. Without `assigned` they are only
 * reserved: their version and their visible columns do not change.
 */
export const reserveCommissions = (
  trx: Transaction,
  shopId: string,
  batchId: string,
  ids: string[],
  assigned?: { at: string },
): Promise<Reserved[]> =>
  trx
    .updateTable('commissions')
    .set((eb) => ({
      payoutBatchId: batchId,
      ...(assigned && { orderStatus: 'PAYABLE' as const, updatedAt: assigned.at, version: eb('version', '+', 1) }),
    }))
    .where('shopId', '=', shopId)
    .where(hasId(trx, ids))
    .where('payoutBatchId', 'is', null)
    .where(withoutIndex(trx, 'orderStatus'), 'in', APPROVED)
    .where('commissionAmountCents', '<>', 0)
    .returning(['affiliateId', 'programId', 'currency', 'commissionAmountCents', 'taxWithheldCents'])
    .execute()

/** The position in the commissions of a batch, newest first. */
export interface BatchCursor {
  happenedAt: string
  id: string
}

/** Reads the next commissions of a batch from an index. */
export const readBatchPage = (
  db: Reader,
  { shopId, batchId }: Pick<PayoutJobRow, 'shopId' | 'batchId'>,
  after: BatchCursor,
  limit: number,
): Promise<BatchCursor[]> =>
  db
    .selectFrom('commissions')
    .select(['happenedAt', 'id'])
    .where('shopId', '=', shopId)
    .where('payoutBatchId', '=', batchId)
    .where((eb) => eb(eb.refTuple('happenedAt', 'id'), '<', eb.tuple(after.happenedAt, after.id)))
    .orderBy('happenedAt', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()

/** Writes what the job of a batch makes of these commissions of it. */
export async function applyJob(
  trx: Transaction,
  { shopId, batchId, phase, changedAt }: PayoutJobRow,
  ids: string[],
): Promise<void> {
  const update = trx
    .updateTable('commissions')
    .where('shopId', '=', shopId)
    .where(hasId(trx, ids))
    .where(withoutIndex(trx, 'payoutBatchId'), '=', batchId)
  if (phase === 'RESERVING' || phase === 'UNDOING') return void (await update.set({ payoutBatchId: null }).execute())
  const { from, to } = PHASE_STATUSES[phase]
  const columns = {
    orderStatus: to,
    updatedAt: changedAt,
    ...(phase === 'PAYING' && { paidAt: changedAt }),
    ...(phase === 'RELEASING' && { payoutBatchId: null }),
  }
  await update
    .set((eb) => ({ ...columns, version: eb('version', '+', 1) }))
    .where((eb) => {
      const isNext = eb(withoutIndex(trx, 'orderStatus'), 'in', [...from])
      // A commission that was PAYABLE without a batch needs a new version, so that nobody changes it from what it was.
      const isOld = eb.and([eb(withoutIndex(trx, 'orderStatus'), '=', 'PAYABLE'), eb('updatedAt', '<', changedAt)])
      return phase === 'ASSIGNING' ? eb.or([isNext, isOld]) : isNext
    })
    .execute()
}

export async function insertJob(trx: Transaction, job: PayoutJobRow): Promise<void> {
  const { shopId: _, batchId: __, ...changes } = job
  await trx
    .insertInto('payoutJobs')
    .values(job)
    .onConflict((conflict) => conflict.columns(['shopId', 'batchId']).doUpdateSet(changes))
    .execute()
}

type JobKey = Pick<PayoutJobRow, 'shopId' | 'batchId'>

export async function updateJob(trx: Transaction, { shopId, batchId }: JobKey, changes: Partial<PayoutJobRow>) {
  await trx.updateTable('payoutJobs').set(changes).where('shopId', '=', shopId).where('batchId', '=', batchId).execute()
}

/** Deletes a finished job and what it no longer needs. */
export async function deleteJob(trx: Transaction, { shopId, batchId }: JobKey): Promise<void> {
  await deleteReservationChanges(trx, { shopId, batchId })
  await trx.deleteFrom('payoutJobs').where('shopId', '=', shopId).where('batchId', '=', batchId).execute()
}

export async function deleteReservationChanges(trx: Transaction, { shopId, batchId }: JobKey): Promise<void> {
  await trx.deleteFrom('reservationChanges').where('shopId', '=', shopId).where('batchId', '=', batchId).execute()
}

export const listReservationChanges = (db: Reader, { shopId, batchId }: JobKey): Promise<ReservationChangeRow[]> =>
  db.selectFrom('reservationChanges').selectAll().where('shopId', '=', shopId).where('batchId', '=', batchId).execute()

/** The jobs of all shops whose lease has expired. */
export const listExpiredJobs = (db: Reader, now: string): Promise<PayoutJobRow[]> =>
  db.selectFrom('payoutJobs').selectAll().where('claimedUntil', '<=', now).execute()
