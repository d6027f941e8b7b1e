import { type ExpressionBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Arrival } from '../../core/context.ts'
import { withPrefix } from '../../core/ids.ts'
import { defineList, rowsOf } from '../../core/lists.ts'
import { type PageQuery, pageOf } from '../../core/pagination.ts'
import { countRows, joinSumParts, sumParts, updateIfUnchanged, withoutIndex } from '../../core/queries.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { isSqlite } from '../../database/event-loop.ts'
import { prepared } from '../../database/prepared.ts'
import type { CommissionRow, PayoutBatchRow, Tables } from '../../database/tables.ts'
import { ineligibleAffiliates } from '../affiliates/queries.ts'
import { type Condition, ofBatch, ofPeriod, partsOf, type Range, singlePart, updateCommissions } from './commissions.ts'
import { BY_AFFILIATE, isUnpaid, paidColumns } from './jobs.ts'

export interface BatchFilter {
  id?: string
  status?: PayoutBatchRow['status']
  currency?: string
  /** Instants, both inclusive: batches whose period has one in common. */
  from?: string
  to?: string
}

const batches = (db: Reader, shopId: string) => db.selectFrom('payoutBatches').selectAll().where('shopId', '=', shopId)

export const findBatch = (db: Reader, shopId: string, id: string): Promise<PayoutBatchRow | undefined> =>
  batches(db, shopId).where('id', '=', id).executeTakeFirst()

/** Whether the filter has no stored count, so that the matching rows are counted. */
const isUncounted = ({ id, currency, from, to }: BatchFilter): boolean =>
  [id, currency, from, to].some((one) => one !== undefined)

export async function listBatches(db: Reader, shopId: string, query: BatchFilter & PageQuery) {
  const { id, status, currency, from, to } = query
  let list = batches(db, shopId).orderBy('createdAt', 'desc').orderBy('id', 'desc')
  if (id) list = list.where('id', '=', id)
  if (status) list = list.where('status', '=', status)
  if (currency) list = list.where('currency', '=', currency)
  if (from) list = list.where('periodEnd', '>=', from)
  if (to) list = list.where('periodStart', '<=', to)
  const total = isUncounted(query) ? undefined : await countRows(db, shopId, { list: 'payoutBatches', status })
  return pageOf(list, query, { total, list: 'payoutBatches' })
}

export const batchList = defineList(import.meta.url, 'batchList', {
  read: listBatches,
  cost: (query: BatchFilter & PageQuery) =>
    query.id === undefined && isUncounted(query) ? rowsOf({ list: 'payoutBatches' }) : undefined,
})

const newestBatches = prepared<{ shopId: string; limit: number }>()((db, { shopId, limit }) =>
  db
    .selectFrom('payoutBatches')
    .select(['id', 'status', 'currency', 'periodStart', 'periodEnd'])
    .where('shopId', '=', shopId)
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .compile(),
)

/** The newest batches: their periods, without their totals. */
export const listNewestBatches = (db: Reader, shopId: string, limit: number) => newestBatches(db, { shopId, limit })

/** Whether the shop has a batch that is neither paid nor failed. */
export const hasOpenBatch = async (db: Reader, shopId: string): Promise<boolean> =>
  (await batches(db, shopId).where('status', 'in', ['OPEN', 'PROCESSING']).limit(1).executeTakeFirst()) !== undefined

export async function insertBatch(
  trx: Transaction,
  shopId: string,
  row: Omit<PayoutBatchRow, 'shopId'>,
): Promise<void> {
  await trx
    .insertInto('payoutBatches')
    .values({ shopId, ...row })
    .execute()
}

/** Updates a batch unless it was changed since it was read. Returns whether it was updated. */
export const updateBatchIfUnchanged = (
  trx: Transaction,
  shopId: string,
  row: PayoutBatchRow,
  changes: Partial<PayoutBatchRow>,
): Promise<boolean> => updateIfUnchanged(trx, shopId, 'payoutBatches', { row, changes })

/** The commissions that a batch selects; both instants are inclusive. */
export interface CandidateFilter {
  periodStart: string
  periodEnd: string
  /** Also selects commissions from before `periodStart`. */
  includeEarlier?: boolean
  currency?: string | null
  affiliateIds?: string[] | null
  programId?: string | null
  exceptAffiliateIds?: string[]
}

/** Before every instant of a commission. */
export const BEGINNING = '0001-01-01T00:00:00.000Z'

/** The first instant that a batch selects. */
export const firstInstant = ({ periodStart, includeEarlier }: CandidateFilter): string =>
  includeEarlier ? BEGINNING : periodStart

/** Sums of the commissions of one affiliate in one program and currency. */
export interface Subtotal {
  affiliateId: string
  programId: string | null
  currency: string
  commissions: number
  commissionAmountCents: bigint
  taxWithheldCents: bigint
}

/** The sums of a subtotal as read from the database, each in two parts. */
type Parts = Record<'centsHigh' | 'centsLow' | 'taxHigh' | 'taxLow', number>

export const APPROVED: CommissionRow['orderStatus'][] = ['APPROVED', 'ACCEPTED', 'PAYABLE']

/** Selected by the filter, apart from the period. */
const isSelected = (filter: CandidateFilter) => (eb: Commissions) => {
  const conditions = []
  if (filter.currency) conditions.push(eb('commissions.currency', '=', filter.currency))
  if (filter.affiliateIds) conditions.push(eb('commissions.affiliateId', 'in', filter.affiliateIds))
  if (filter.programId) conditions.push(eb('commissions.programId', '=', filter.programId))
  if (filter.exceptAffiliateIds?.length)
    conditions.push(eb('commissions.affiliateId', 'not in', filter.exceptAffiliateIds))
  return eb.and(conditions)
}

/** Not in a batch, and not zero. `db`: commissions of a reservation or a canceled batch count as not in a batch. */
const isUnbatched = (shopId: string, filter: CandidateFilter, db?: Reader) => (eb: Commissions) => {
  const inNone = eb('commissions.payoutBatchId', 'is', null)
  return eb.and([
    eb('commissions.shopId', '=', shopId),
    db ? eb.or([inNone, eb('commissions.payoutBatchId', 'in', unassignedBatches(db, shopId))]) : inNone,
    eb('commissions.commissionAmountCents', '<>', 0),
    isSelected(filter)(eb),
  ])
}

type Commissions = ExpressionBuilder<Tables, 'commissions'>

const releasedBatches = (db: Reader, shopId: string) =>
  db.selectFrom('payoutJobs').select('batchId').where('shopId', '=', shopId).where('phase', '=', 'RELEASING')

export const unassignedBatches = (db: Reader, shopId: string) =>
  db
    .selectFrom('payoutJobs')
    .select('batchId')
    .where('shopId', '=', shopId)
    .where('phase', 'in', ['RESERVING', 'UNDOING', 'RELEASING'])

/** The approved commissions of the period. */
const approvedInPeriod = (filter: CandidateFilter): Range => ofPeriod(APPROVED, firstInstant(filter), filter.periodEnd)

export const CENTS = sumParts('commissionAmountCents')
export const TAX = sumParts('taxWithheldCents')

export const toSubtotals = <Row extends Parts>(rows: Row[]) =>
  rows.map(({ centsHigh, centsLow, taxHigh, taxLow, ...row }) => ({
    ...row,
    commissionAmountCents: joinSumParts(centsHigh, centsLow),
    taxWithheldCents: joinSumParts(taxHigh, taxLow),
  }))

const subtotalsOf = <T>(query: SelectQueryBuilder<Tables, 'commissions', T>) =>
  query
    .select(['affiliateId', 'programId', 'currency'])
    .select((eb) => eb.fn.countAll<number>().as('commissions'))
    .select([CENTS.high.as('centsHigh'), CENTS.low.as('centsLow'), TAX.high.as('taxHigh'), TAX.low.as('taxLow')])
    // In this order: with affiliates first, SQLite reads every commission of the shop by affiliate.
    .groupBy(['currency', 'programId', 'affiliateId'])

type SumPart = (part: Condition) => Promise<Subtotal[]>

interface SumOptions {
  /** Only what a batch would pay, or only what it would hold back; without it, both. */
  isPayable?: boolean
  /** Whether commissions of a reservation count as not in a batch. */
  withReserved: boolean
}

/** The sums of the commissions that a batch would pay or hold back. */
const sumsOf =
  (db: Reader, shopId: string, filter: CandidateFilter, { isPayable, withReserved }: SumOptions): SumPart =>
  async (part) => {
    const candidates = db.selectFrom('commissions').where(part)
    const sums = subtotalsOf(candidates.where(isUnbatched(shopId, filter, withReserved ? db : undefined)))
    const own =
      isPayable === undefined
        ? sums
        : sums.where('affiliateId', isPayable ? 'not in' : 'in', ineligibleAffiliates(db, shopId))
    return toSubtotals(await own.execute())
  }

const sumPeriod = (db: Reader, shopId: string, filter: CandidateFilter, options: SumOptions): Promise<Subtotal[]> =>
  sumInParts(db, shopId, approvedInPeriod(filter), sumsOf(db, shopId, filter, options))

/** The sums of the commissions that a batch would pay, in the caller's transaction. */
export const sumCandidates = (trx: Transaction, shopId: string, filter: CandidateFilter): Promise<Subtotal[]> =>
  sumPeriod(trx, shopId, filter, { isPayable: true, withReserved: false })

/** {@link sumCandidates} before the transaction, including commissions that another request reserves. */
export const sumVisibleCandidates = (db: Reader, shopId: string, filter: CandidateFilter): Promise<Subtotal[]> =>
  sumPeriod(db, shopId, filter, { isPayable: true, withReserved: true })

/** The sums of the commissions that a batch would hold back, in the caller's transaction. */
export const sumHeldBack = (trx: Transaction, shopId: string, filter: CandidateFilter): Promise<Subtotal[]> =>
  sumPeriod(trx, shopId, filter, { isPayable: false, withReserved: false })

/** {@link sumVisibleCandidates} as one statement. Reads every commission of the period, so it runs in the report worker. */
export const sumVisible = (
  db: Reader,
  shopId: string,
  filter: CandidateFilter,
  options: { isPayable?: boolean } = {},
): Promise<Subtotal[]> => sumsOf(db, shopId, filter, { ...options, withReserved: true })(approvedInPeriod(filter).whole)

/** Sums of the approved commissions of one affiliate that are not in a batch. */
export interface UnbatchedSum extends Omit<Subtotal, 'programId'> {
  /** `EARLIER` than the period, in it, or a debt that a batch of the period has carried forward. */
  place: 'EARLIER' | 'PERIOD' | 'CARRIED'
  oldestAt: string
}

/**
 * Everything approved until the end of a period that is in no batch, with the debts that begin one millisecond later. Reads
 * every approved commission, so it runs in the report worker.
 */
export async function sumUnbatched(db: Reader, shopId: string, filter: CandidateFilter): Promise<UnbatchedSum[]> {
  const { periodStart, periodEnd } = filter
  const afterEnd = new Date(Date.parse(periodEnd) + 1).toISOString()
  const place = sql<UnbatchedSum['place']>`case when "happenedAt" < ${periodStart} then 'EARLIER'
    when "happenedAt" > ${periodEnd} then 'CARRIED' else 'PERIOD' end`
  const rows = await db
    .selectFrom('commissions')
    .select(['affiliateId', 'currency', place.as('place')])
    .select((eb) => [eb.fn.countAll<number>().as('commissions'), eb.fn.min('happenedAt').as('oldestAt')])
    .select([CENTS.high.as('centsHigh'), CENTS.low.as('centsLow'), TAX.high.as('taxHigh'), TAX.low.as('taxLow')])
    .where(ofPeriod(APPROVED, BEGINNING, afterEnd).whole)
    .where(isUnbatched(shopId, filter, db))
    .where((eb) => eb.or([eb('happenedAt', '<=', periodEnd), eb('debtId', 'is not', null)]))
    .groupBy(['currency', 'affiliateId', sql.ref('place')])
    .execute()
  return toSubtotals(rows)
}

/** Whether a batch that was created after a request arrived has commissions that the request selects. */
export async function wasClaimedSince(
  db: Reader,
  shopId: string,
  filter: CandidateFilter,
  arrival: Arrival,
): Promise<boolean> {
  const arrivedAt = new Date(arrival.at).toISOString()
  const since = db
    .selectFrom('payoutBatches')
    .select('id')
    .where('shopId', '=', shopId)
    .where('createdAt', '>=', arrivedAt)
    // The id of a large batch is older than the batch; ids distinguish what was created in the same millisecond.
    .where((eb) => eb.or([eb('createdAt', '>', arrivedAt), eb('id', '>', withPrefix('bat', arrival.id))]))
  const claimed = await db
    .selectFrom('commissions')
    .select('id')
    .where('shopId', '=', shopId)
    .where('payoutBatchId', 'in', since)
    .where('happenedAt', '>=', firstInstant(filter))
    .where('happenedAt', '<=', filter.periodEnd)
    .where(isSelected(filter))
    .limit(1)
    .executeTakeFirst()
  return claimed !== undefined
}

/** How many commissions of the shop are approved: at most this many can be in a new batch. */
export async function countApproved(db: Reader, shopId: string): Promise<number> {
  const counts = await Promise.all(APPROVED.map((status) => countRows(db, shopId, { list: 'commissions', status })))
  return counts.reduce((sum, count) => sum + count, 0)
}

/** The affiliates whose commissions are held back. */
export const listIneligibleAffiliateIds = async (db: Reader, shopId: string): Promise<string[]> =>
  (await ineligibleAffiliates(db, shopId).execute()).map(({ id }) => id)

async function sumInParts(db: Reader, shopId: string, range: Range, sums: SumPart): Promise<Subtotal[]> {
  const merged = new Map<string, Subtotal>()
  for await (const part of partsOf(db, shopId, range)) {
    for (const row of await sums(part)) {
      const key = `${row.affiliateId} ${row.programId} ${row.currency}`
      const existing = merged.get(key)
      if (!existing) merged.set(key, row)
      else {
        existing.commissions += row.commissions
        existing.commissionAmountCents += row.commissionAmountCents
        existing.taxWithheldCents += row.taxWithheldCents
      }
    }
  }
  return [...merged.values()]
}

/** Assigns every candidate that is in no batch to the batch. */
export async function assignCandidates(
  trx: Transaction,
  shopId: string,
  filter: CandidateFilter,
  batch: { id: string; updatedAt: string },
): Promise<void> {
  const canBePaid: Condition = (eb) =>
    eb.and([
      isUnbatched(shopId, filter)(eb),
      eb('commissions.affiliateId', 'not in', ineligibleAffiliates(trx, shopId)),
    ])
  const changes = { payoutBatchId: batch.id, orderStatus: 'PAYABLE', updatedAt: batch.updatedAt } as const
  await updateCommissions(trx, shopId, { range: approvedInPeriod(filter), condition: canBePaid }, changes)
}

/** The sums of the commissions of a batch, in the caller's transaction. */
export const sumBatch = (trx: Transaction, shopId: string, batchId: string): Promise<Subtotal[]> =>
  sumInParts(trx, shopId, ofBatch(batchId), async (part) =>
    toSubtotals(await subtotalsOf(trx.selectFrom('commissions').where('shopId', '=', shopId).where(part)).execute()),
  )

/** The lowest amount of an affiliate's commissions in a batch, in cents; undefined without commissions. */
export async function findLowestAmount(
  trx: Transaction,
  shopId: string,
  batchId: string,
  affiliateId: string,
): Promise<number | undefined> {
  const { lowest } = await trx
    .selectFrom('commissions')
    .select((eb) => eb.fn.min('commissionAmountCents').as('lowest'))
    .where('shopId', '=', shopId)
    .where('payoutBatchId', '=', batchId)
    .where('affiliateId', '=', affiliateId)
    .executeTakeFirstOrThrow()
  return lowest ?? undefined
}

/** The sums of one affiliate's commissions in a batch. */
export const sumLine = async (
  trx: Transaction,
  shopId: string,
  batchId: string,
  affiliateId: string,
): Promise<Subtotal[]> => {
  const ofAffiliate = trx
    .selectFrom('commissions')
    .selectAll()
    .where('shopId', '=', shopId)
    .where('payoutBatchId', '=', batchId)
    .where('affiliateId', '=', affiliateId)
  // SQLite uses the index that matches most columns, whatever the order.
  if (isSqlite(trx)) return toSubtotals(await subtotalsOf(ofAffiliate.clearSelect()).execute())
  return toSubtotals(await subtotalsOf(trx.selectFrom(ofAffiliate.orderBy(BY_AFFILIATE).as('commissions'))).execute())
}

/** The sums of the commissions of several batches. Those of a canceled batch no longer count. */
export const sumBatches = async (
  db: Reader,
  shopId: string,
  batchIds: string[],
): Promise<(Subtotal & { batchId: string })[]> =>
  toSubtotals(
    await subtotalsOf(db.selectFrom('commissions').where('shopId', '=', shopId))
      .where('payoutBatchId', 'in', batchIds)
      .where('payoutBatchId', 'not in', releasedBatches(db, shopId))
      .select((eb) => eb.ref('payoutBatchId').$notNull().as('batchId'))
      .groupBy('payoutBatchId')
      .execute(),
  )

/** Marks every commission of a batch as paid. */
export async function updateToPaid(trx: Transaction, shopId: string, batchId: string, paidAt: string): Promise<void> {
  // The others were already marked as paid when their payment was reconciled.
  await updateCommissions(trx, shopId, { range: ofBatch(batchId), condition: isUnpaid }, paidColumns(paidAt))
}

/**
 * Cancels both rows of each debt that a batch carried forward, which add up to zero. Debts that another batch has
 * collected do not change.
 *
 * @returns how many rows were canceled
 */
export async function cancelCarriedDebts(
  trx: Transaction,
  shopId: string,
  batchId: string,
  at: string,
): Promise<number> {
  const uncollected = trx
    .selectFrom('commissions as balancing')
    .innerJoin('commissions as open', (join) =>
      join.onRef('open.shopId', '=', 'balancing.shopId').onRef('open.debtId', '=', 'balancing.debtId'),
    )
    .select('balancing.debtId')
    .where('balancing.shopId', '=', shopId)
    // Found among the debts, since a batch may have a million commissions.
    .where(withoutIndex(trx, 'balancing.payoutBatchId'), '=', batchId)
    .whereRef('balancing.debtId', '=', 'balancing.id')
    // Matches the partial index of debts.
    .where('balancing.debtId', 'is not', null)
    .where('open.debtId', 'is not', null)
    .whereRef('open.debtId', '<>', 'open.id')
    .where('open.payoutBatchId', 'is', null)
    // Found by the debt, since a shop has many approved commissions.
    .where(withoutIndex(trx, 'open.orderStatus'), '=', 'APPROVED')
  const changes = { orderStatus: 'CANCELED', payoutBatchId: null, updatedAt: at } as const
  const isDebt: Condition = (eb) => eb('debtId', 'in', uncollected)
  return updateCommissions(trx, shopId, { range: singlePart(isDebt), condition: isDebt }, changes)
}

/** Releases every commission of a batch: it is `APPROVED` again and available to other batches. Returns how many. */
export const releaseCommissions = (trx: Transaction, shopId: string, batchId: string, at: string): Promise<number> => {
  const changes = { orderStatus: 'APPROVED', payoutBatchId: null, updatedAt: at } as const
  const condition: Condition = (eb) => eb('orderStatus', '=', 'PAYABLE')
  return updateCommissions(trx, shopId, { range: ofBatch(batchId), condition }, changes)
}
