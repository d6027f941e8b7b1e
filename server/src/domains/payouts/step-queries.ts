import { sql } from 'kysely'
import { hasId } from '../../core/queries.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { yieldToEventLoop } from '../../database/event-loop.ts'
import type { CommissionRow, PayoutJobRow, ReservationChangeRow } from '../../database/tables.ts'
import { isUnpaid, PHASE_STATUSES, paidColumns } from '../ledger/jobs.ts'
import { APPROVED, type CandidateFilter, firstInstant } from '../ledger/payouts.ts'

/**
 * A column whose index must not find the rows of a step, which their ids find: PostgreSQL has no statistics of a batch that
 * was just created, so it expects its index to find one row instead of a million. An expression that is null for null would
 * still select the index of commissions in batches, which PostgreSQL 18 reads as a whole for each step.
 */
const unindexed = (column: 'orderStatus' | 'payoutBatchId') => sql<string>`coalesce(${sql.ref(column)}, '')`

/** Reads the approved commissions of a period, in and out of batches, a page at a time. */
export async function* readApproved(db: Reader, shopId: string, filter: CandidateFilter) {
  const from = firstInstant(filter)
  for (const status of APPROVED) {
    // Greater than every id.
    for (let after: PageStart | undefined = { happenedAt: filter.periodEnd, id: '~' }; after; ) {
      const rows = await readApprovedPage(db, { shopId, status, after })
      // With a second bound, SQLite without statistics reads every status by the index of times.
      const page = rows.filter(({ happenedAt }) => happenedAt >= from)
      yield page
      after = page.length === PAGE_ROWS ? page.at(-1) : undefined
      if (after) await yieldToEventLoop()
    }
  }
}

const PAGE_ROWS = 500

type PageStart = Pick<CommissionRow, 'happenedAt' | 'id'>

/** By order and limit: PostgreSQL expects a tenth of all rows between two positions, and would read the table for each page. */
const readApprovedPage = (
  db: Reader,
  { shopId, status, after }: { shopId: string; status: CommissionRow['orderStatus']; after: PageStart },
) =>
  db
    .selectFrom('commissions')
    .select(['happenedAt', 'id', 'affiliateId', 'programId', 'currency', 'commissionAmountCents', 'payoutBatchId'])
    .where('shopId', '=', shopId)
    .where('orderStatus', '=', status)
    .where((eb) => eb(eb.refTuple('happenedAt', 'id'), '<', eb.tuple(after.happenedAt, after.id)))
    .orderBy('happenedAt', 'desc')
    .orderBy('id', 'desc')
    .limit(PAGE_ROWS)
    .execute()

/** A job and the lease of the run that changes its commissions. */
export interface Lease {
  shopId: string
  batchId: string
  claimedBy: string
}

/** A commission that was added to a batch. */
export type Reserved = Pick<
  CommissionRow,
  'affiliateId' | 'programId' | 'currency' | 'commissionAmountCents' | 'taxWithheldCents'
>

/** Adds the commissions that are still approved and in no batch. */
const addToBatch = (trx: Transaction, shopId: string, ids: string[]) =>
  trx
    .updateTable('commissions')
    .where('shopId', '=', shopId)
    .where(hasId(trx, ids))
    .where('payoutBatchId', 'is', null)
    .where(unindexed('orderStatus'), 'in', APPROVED)
    .where('commissionAmountCents', '<>', 0)
    .returning(['affiliateId', 'programId', 'currency', 'commissionAmountCents', 'taxWithheldCents'])

/** Reserves commissions for a batch that is being created: neither their version nor a visible column changes. */
export const reserveCommissions = (trx: Transaction, lease: Lease, ids: string[]): Promise<Reserved[]> =>
  addToBatch(trx, lease.shopId, ids).set({ payoutBatchId: lease.batchId }).execute()

/** Assigns commissions to a batch that is created in the same transaction. */
export const assignCommissions = (
  trx: Transaction,
  { shopId, batchId, updatedAt }: { shopId: string; batchId: string; updatedAt: string },
  ids: string[],
): Promise<Reserved[]> =>
  addToBatch(trx, shopId, ids)
    .set((eb) => ({ payoutBatchId: batchId, orderStatus: 'PAYABLE', updatedAt, version: eb('version', '+', 1) }))
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

/** Applies the phase of a job to some commissions of its batch. */
export async function applyJob(trx: Transaction, job: PayoutJobRow, ids: string[]): Promise<void> {
  const { shopId, batchId, phase, changedAt } = job
  const update = trx
    .updateTable('commissions')
    .where('shopId', '=', shopId)
    .where(hasId(trx, ids))
    .where(unindexed('payoutBatchId'), '=', batchId)
  if (phase === 'RESERVING' || phase === 'UNDOING') return void (await update.set({ payoutBatchId: null }).execute())
  if (phase === 'PAYING') {
    const paid = update.set((eb) => ({ ...paidColumns(changedAt), version: eb('version', '+', 1) }))
    return void (await paid.where(isUnpaid).execute())
  }
  const { from, to } = PHASE_STATUSES[phase]
  const columns = { orderStatus: to, updatedAt: changedAt, ...(phase === 'RELEASING' && { payoutBatchId: null }) }
  await update
    .set((eb) => ({ ...columns, version: eb('version', '+', 1) }))
    .where((eb) => {
      const isNext = eb(unindexed('orderStatus'), 'in', [...from])
      // A commission that was PAYABLE without a batch needs a new version, so that a concurrent update based on the old version fails.
      const isOld = eb.and([eb(unindexed('orderStatus'), '=', 'PAYABLE'), eb('updatedAt', '<', changedAt)])
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

/** Updates a job unless another run holds the lease. Returns whether it was updated. */
export async function updateJob(trx: Transaction, lease: Lease, changes: Partial<PayoutJobRow>): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('payoutJobs')
    .set(changes)
    .where('shopId', '=', lease.shopId)
    .where('batchId', '=', lease.batchId)
    .where('claimedBy', '=', lease.claimedBy)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Deletes a finished job and what it no longer needs, unless another run holds the lease. */
export async function deleteJob(trx: Transaction, lease: Lease): Promise<void> {
  const { numDeletedRows } = await trx
    .deleteFrom('payoutJobs')
    .where('shopId', '=', lease.shopId)
    .where('batchId', '=', lease.batchId)
    .where('claimedBy', '=', lease.claimedBy)
    .executeTakeFirst()
  if (numDeletedRows === 1n) await deleteReservationChanges(trx, lease)
}

export async function deleteReservationChanges(trx: Transaction, { shopId, batchId }: JobKey): Promise<void> {
  await trx.deleteFrom('reservationChanges').where('shopId', '=', shopId).where('batchId', '=', batchId).execute()
}

export const listReservationChanges = (db: Reader, { shopId, batchId }: JobKey): Promise<ReservationChangeRow[]> =>
  db.selectFrom('reservationChanges').selectAll().where('shopId', '=', shopId).where('batchId', '=', batchId).execute()

/** The jobs of all shops. */
export const listAllJobs = (db: Reader): Promise<PayoutJobRow[]> =>
  // The condition names the index, which every row is in.
  db.selectFrom('payoutJobs').selectAll().where('claimedUntil', '>=', '').execute()
