import { type ExpressionBuilder, sql } from 'kysely'
import type { Reader, Transaction } from '../../database/database.ts'
import { prepared } from '../../database/prepared.ts'
import type { CommissionRow, PayoutJobRow, ReservationChangeRow, Tables } from '../../database/tables.ts'

const ofShop = prepared<{ shopId: string }>()((db, { shopId }) =>
  db.selectFrom('payoutJobs').selectAll().where('shopId', '=', shopId).compile(),
)

/** The batches of a shop that still change in steps; nearly always none. */
export const listJobs = (db: Reader, shopId: string): Promise<PayoutJobRow[]> => ofShop(db, { shopId })

const ofBatch = prepared<{ shopId: string; batchId: string }>()((db, { shopId, batchId }) =>
  db.selectFrom('payoutJobs').selectAll().where('shopId', '=', shopId).where('batchId', '=', batchId).compile(),
)

export const findJob = async (db: Reader, shopId: string, batchId: string): Promise<PayoutJobRow | undefined> =>
  (await ofBatch(db, { shopId, batchId }))[0]

type Status = CommissionRow['orderStatus']
type Phase = PayoutJobRow['phase']

/** The commissions of a reservation look as if they were in no batch. */
export const isReservation = (phase: Phase): boolean => phase === 'RESERVING' || phase === 'UNDOING'

/** The phases that change the status of commissions, the statuses they start from, and the one they lead to. */
export const PHASE_STATUSES = {
  ASSIGNING: { from: ['APPROVED', 'ACCEPTED'], to: 'PAYABLE' },
  PAYING: { from: ['APPROVED', 'ACCEPTED', 'PAYABLE'], to: 'PAID' },
  RELEASING: { from: ['APPROVED', 'ACCEPTED', 'PAYABLE'], to: 'APPROVED' },
} as const satisfies { [Name in Phase]?: { from: readonly Status[]; to: Status } }

/**
 * The order of the index that finds the commissions of one affiliate in a batch. Without statistics of a new batch, PostgreSQL
 * expects one row from the index of the batch too, and would read the whole batch for each affiliate.
 */
export const BY_AFFILIATE = 'commissionAmountCents'

/** Found by other columns: the shop has many commissions in these statuses. */
const STATUS = sql<string>`"orderStatus" || ''`

/**
 * Whether a commission of a batch was not paid yet. One that was reversed after its payment was sent is part of the payment,
 * and stays `REVERSED`.
 */
export const isUnpaid = (eb: ExpressionBuilder<Tables, 'commissions'>) =>
  eb.or([
    eb(STATUS, 'in', [...PHASE_STATUSES.PAYING.from]),
    eb.and([eb(STATUS, '=', 'REVERSED'), eb('paidAt', 'is', null)]),
  ])

/** What payment makes of a commission that `isUnpaid`. */
export const paidColumns = (paidAt: string) => ({
  orderStatus: sql<Status>`case when "orderStatus" = 'REVERSED' then 'REVERSED' else 'PAID' end`,
  paidAt,
  updatedAt: paidAt,
})

/** The columns that a step changes. */
type SteppedColumns = Pick<CommissionRow, 'orderStatus' | 'payoutBatchId' | 'paidAt' | 'updatedAt'>

/** What the job of its batch makes of a commission that no step has changed yet. */
export function steppedColumns(
  { phase, changedAt }: Pick<PayoutJobRow, 'phase' | 'changedAt'>,
  row: SteppedColumns,
): Partial<SteppedColumns> {
  if (phase === 'RESERVING' || phase === 'UNDOING') return {}
  const { from, to } = PHASE_STATUSES[phase]
  if (phase === 'PAYING' && row.orderStatus === 'REVERSED' && row.paidAt === null)
    return { updatedAt: changedAt, paidAt: changedAt }
  if (!from.some((status) => status === row.orderStatus)) return {}
  const columns = { orderStatus: to, updatedAt: changedAt }
  if (phase === 'PAYING') return { ...columns, paidAt: changedAt }
  return phase === 'RELEASING' ? { ...columns, payoutBatchId: null } : columns
}

/** A commission as users see it. @param jobs of its shop, read before the commission */
export function toEffective<Row extends SteppedColumns>(row: Row, jobs: PayoutJobRow[]): Row {
  if (row.payoutBatchId === null) return row
  const job = jobs.find(({ batchId }) => batchId === row.payoutBatchId)
  // Without a job, it was reserved after the jobs were read.
  const isReserved = job ? isReservation(job.phase) : isInterim(row)
  if (isReserved) return { ...row, payoutBatchId: null }
  return job ? { ...row, ...steppedColumns(job, row) } : row
}

/** Whether only a job can have left a commission like this: in a batch, and not yet `PAYABLE`. */
export const isInterim = ({ orderStatus, payoutBatchId }: SteppedColumns): boolean =>
  payoutBatchId !== null && (orderStatus === 'APPROVED' || orderStatus === 'ACCEPTED')

const isStepped = (phase: keyof typeof PHASE_STATUSES) =>
  sql<boolean>`(job.phase = ${sql.lit(phase)} and commissions."orderStatus" in (${sql.join(
    PHASE_STATUSES[phase].from.map((status) => sql.lit(status)),
  )}))`

const stepped = {
  assigning: isStepped('ASSIGNING'),
  paying: isStepped('PAYING'),
  releasing: isStepped('RELEASING'),
}

/** The commissions of a shop, each with the `job` that changes its batch. */
export const withJob = (db: Reader, shopId: string) =>
  db
    .selectFrom('commissions')
    .leftJoin('payoutJobs as job', (join) =>
      join.onRef('job.shopId', '=', 'commissions.shopId').onRef('job.batchId', '=', 'commissions.payoutBatchId'),
    )
    .where('commissions.shopId', '=', shopId)

/** {@link toEffective} in SQL, by column, for {@link withJob}. */
export const EFFECTIVE = {
  orderStatus: sql<Status>`case when ${stepped.assigning} then 'PAYABLE' when ${stepped.paying} then 'PAID'
    when ${stepped.releasing} then 'APPROVED' else commissions."orderStatus" end`,
  payoutBatchId: sql<string | null>`case when job.phase in ('RESERVING', 'UNDOING') or ${stepped.releasing} then null
    else commissions."payoutBatchId" end`,
  paidAt: sql<string | null>`case when ${stepped.paying}
    or (job.phase = 'PAYING' and commissions."orderStatus" = 'REVERSED' and commissions."paidAt" is null)
    then job."changedAt" else commissions."paidAt" end`,
  updatedAt: sql<string>`case when ${stepped.assigning} or ${stepped.paying} or ${stepped.releasing}
    then job."changedAt" else commissions."updatedAt" end`,
}

/** Whether a commission was reversed after its payment was sent, and its batch is still to pay it. For {@link withJob}. */
export const isBatchedReversal = sql<boolean>`(commissions."orderStatus" = 'REVERSED'
  and commissions."payoutBatchId" is not null and ${EFFECTIVE.paidAt} is null)`

/** Notes how a reserved commission changed; `after` is undefined when it left the reservation. */
export async function insertReservationChange(
  trx: Transaction,
  { batchId }: PayoutJobRow,
  before: CommissionRow,
  after: Pick<CommissionRow, 'commissionAmountCents' | 'taxWithheldCents'> | undefined,
): Promise<void> {
  const change: ReservationChangeRow = {
    shopId: before.shopId,
    batchId,
    commissionId: before.id,
    version: before.version,
    affiliateId: before.affiliateId,
    programId: before.programId,
    commissions: after ? 0 : -1,
    commissionCents: (after?.commissionAmountCents ?? 0) - before.commissionAmountCents,
    taxWithheldCents: (after?.taxWithheldCents ?? 0) - before.taxWithheldCents,
  }
  await trx.insertInto('reservationChanges').values(change).execute()
}
