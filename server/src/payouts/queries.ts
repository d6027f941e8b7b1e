import { type ExpressionBuilder, type SelectQueryBuilder, sql } from 'kysely'
import {
  type Condition,
  ofBatch,
  ofPeriod,
  partsOf,
  type Range,
  singlePart,
  updateCommissions,
} from '../commissions/queries.ts'
import { type PageQuery, pageOf } from '../core/pagination.ts'
import { countRows, joinSumParts, sumParts, updateIfUnchanged, withoutIndex } from '../core/queries.ts'
import { defineReport, type Reader, type Transaction } from '../database/database.ts'
import type { CommissionRow, PayoutBatchRow, Tables } from '../database/tables.ts'

interface BatchFilter extends PageQuery {
  id?: string
  status?: PayoutBatchRow['status']
}

const batches = (db: Reader, shopId: string) => db.selectFrom('payoutBatches').selectAll().where('shopId', '=', shopId)

export const findBatch = (db: Reader, shopId: string, id: string): Promise<PayoutBatchRow | undefined> =>
  batches(db, shopId).where('id', '=', id).executeTakeFirst()

export async function listBatches(db: Reader, shopId: string, query: BatchFilter) {
  let list = batches(db, shopId).orderBy('createdAt', 'desc').orderBy('id', 'desc')
  if (query.id) list = list.where('id', '=', query.id)
  if (query.status) list = list.where('status', '=', query.status)
  const total = query.id ? undefined : await countRows(db, shopId, { list: 'payoutBatches', status: query.status })
  return pageOf(list, query, { total, list: 'payoutBatches' })
}

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

/** Changes a batch as long as it is still the version that was read. Returns whether it was. */
export const updateBatchIfUnchanged = (
  trx: Transaction,
  shopId: string,
  row: PayoutBatchRow,
  changes: Partial<PayoutBatchRow>,
): Promise<boolean> => updateIfUnchanged(trx, 'payoutBatches', { shopId, row, changes })

/** Which commissions a batch asks for; both instants are inclusive. */
export interface CandidateFilter {
  periodStart: string
  periodEnd: string
  currency?: string | null
  affiliateIds?: string[] | null
  programId?: string | null
}

/** Sums of the commissions of one affiliate in one program and currency. */
export interface Subtotal {
  affiliateId: string
  programId: string | null
  currency: string
  commissions: number
  commissionAmountCents: bigint
  taxWithheldCents: bigint
}

/** The sums of a subtotal as the database returns them, each in two parts. */
type Parts = Record<'centsHigh' | 'centsLow' | 'taxHigh' | 'taxLow', number>

const APPROVED: CommissionRow['orderStatus'][] = ['APPROVED', 'ACCEPTED', 'PAYABLE']

/** In no batch yet and not nothing, whoever it belongs to. */
const isUnbatched = (shopId: string, filter: CandidateFilter) => (eb: ExpressionBuilder<Tables, 'commissions'>) => {
  const conditions = [
    eb('commissions.shopId', '=', shopId),
    eb('commissions.payoutBatchId', 'is', null),
    eb('commissions.commissionAmountCents', '<>', 0),
  ]
  if (filter.currency) conditions.push(eb('commissions.currency', '=', filter.currency))
  if (filter.affiliateIds) conditions.push(eb('commissions.affiliateId', 'in', filter.affiliateIds))
  if (filter.programId) conditions.push(eb('commissions.programId', '=', filter.programId))
  return eb.and(conditions)
}

/** The approved commissions of the period. */
const approvedInPeriod = ({ periodStart, periodEnd }: CandidateFilter): Range =>
  ofPeriod(APPROVED, periodStart, periodEnd)

/** Archived and rejected affiliates are not paid; their money waits. */
const unpaidAffiliates = (db: Reader, shopId: string) =>
  db
    .selectFrom('affiliates')
    .select('affiliates.id')
    .where('affiliates.shopId', '=', shopId)
    // A literal, not a value: a partial index is only used when its condition stands in the query.
    .where(sql<boolean>`("deletedAt" is not null or status = 'REJECTED')`)

const CENTS = sumParts('commissionAmountCents')
const TAX = sumParts('taxWithheldCents')

const toSubtotals = <Row extends Parts>(rows: Row[]) =>
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
    // In this order: affiliates first would tempt SQLite to walk through every commission of the shop by affiliate.
    .groupBy(['currency', 'programId', 'affiliateId'])

type SumPart = (part: Condition) => Promise<Subtotal[]>

/** Of what a batch would take, or of what it would have to leave behind. */
const sumsOf =
  (db: Reader, shopId: string, filter: CandidateFilter, isTaken: boolean): SumPart =>
  async (part) =>
    toSubtotals(
      await subtotalsOf(db.selectFrom('commissions').where(part).where(isUnbatched(shopId, filter)))
        .where('affiliateId', isTaken ? 'not in' : 'in', unpaidAffiliates(db, shopId))
        .execute(),
    )

/** Sums of what a batch would take, in the caller's transaction. */
export const sumCandidates = (db: Reader, shopId: string, filter: CandidateFilter): Promise<Subtotal[]> =>
  sumInParts(db, shopId, approvedInPeriod(filter), sumsOf(db, shopId, filter, true))

/** Sums of what a batch would have to leave behind, in the caller's transaction. */
export const sumHeldBack = (db: Reader, shopId: string, filter: CandidateFilter): Promise<Subtotal[]> =>
  sumInParts(db, shopId, approvedInPeriod(filter), sumsOf(db, shopId, filter, false))

/** The same without a transaction: every commission of the period is read, so it runs in the report thread. */
export const subtotalsReport = defineReport(
  import.meta.url,
  'subtotalsReport',
  (
    db,
    { shopId, query: { filter, isTaken } }: { shopId: string; query: { filter: CandidateFilter; isTaken: boolean } },
  ) => sumsOf(db, shopId, filter, isTaken)(approvedInPeriod(filter).whole),
)

async function sumInParts(db: Reader, shopId: string, range: Range, sums: SumPart): Promise<Subtotal[]> {
  const merged = new Map<string, Subtotal>()
  for await (const part of partsOf(db, shopId, range)) {
    for (const row of await sums(part)) {
      const key = `${row.affiliateId} ${row.programId} ${row.currency}`
      const known = merged.get(key)
      if (!known) merged.set(key, row)
      else {
        known.commissions += row.commissions
        known.commissionAmountCents += row.commissionAmountCents
        known.taxWithheldCents += row.taxWithheldCents
      }
    }
  }
  return [...merged.values()]
}

/** Puts every candidate that is still free into the batch. */
export async function assignCandidates(
  trx: Transaction,
  shopId: string,
  filter: CandidateFilter,
  batch: { id: string; updatedAt: string },
): Promise<void> {
  const isPayable: Condition = (eb) =>
    eb.and([isUnbatched(shopId, filter)(eb), eb('commissions.affiliateId', 'not in', unpaidAffiliates(trx, shopId))])
  const changes = { payoutBatchId: batch.id, orderStatus: 'PAYABLE', updatedAt: batch.updatedAt } as const
  await updateCommissions(trx, shopId, { range: approvedInPeriod(filter), condition: isPayable }, changes)
}

/** Sums of the rows of a batch, in the caller's transaction. */
export const sumBatch = (trx: Transaction, shopId: string, batchId: string): Promise<Subtotal[]> =>
  sumInParts(trx, shopId, ofBatch(batchId), async (part) =>
    toSubtotals(await subtotalsOf(trx.selectFrom('commissions').where('shopId', '=', shopId).where(part)).execute()),
  )

/** Sums of the rows that stand in batches. */
export const sumBatches = async (
  db: Reader,
  shopId: string,
  batchIds: string[],
): Promise<(Subtotal & { batchId: string })[]> =>
  toSubtotals(
    await subtotalsOf(db.selectFrom('commissions').where('shopId', '=', shopId))
      .where('payoutBatchId', 'in', batchIds)
      .select((eb) => eb.ref('payoutBatchId').$notNull().as('batchId'))
      .groupBy('payoutBatchId')
      .execute(),
  )

/** Marks every commission of a batch as paid. */
export async function updateToPaid(trx: Transaction, shopId: string, batchId: string, paidAt: string): Promise<void> {
  const changes = { orderStatus: 'PAID', paidAt, updatedAt: paidAt } as const
  await updateCommissions(trx, shopId, { range: ofBatch(batchId), condition: (eb) => eb.lit(true) }, changes)
}

/**
 * Cancels both rows of each debt that a batch carried on, which add up to nothing. A debt that another batch has
 * collected stays as it is.
 */
export async function cancelCarriedDebts(trx: Transaction, shopId: string, batchId: string, at: string): Promise<void> {
  const waiting = trx
    .selectFrom('commissions as balancing')
    .innerJoin('commissions as open', (join) =>
      join.onRef('open.shopId', '=', 'balancing.shopId').onRef('open.debtId', '=', 'balancing.debtId'),
    )
    .select('balancing.debtId')
    .where('balancing.shopId', '=', shopId)
    .where('balancing.payoutBatchId', '=', batchId)
    .whereRef('balancing.debtId', '=', 'balancing.id')
    // The index of debts holds these only.
    .where('balancing.debtId', 'is not', null)
    .where('open.debtId', 'is not', null)
    .whereRef('open.debtId', '<>', 'open.id')
    .where('open.payoutBatchId', 'is', null)
    // Found by the debt: a shop has many approved commissions.
    .where(withoutIndex(trx, 'open.orderStatus'), '=', 'APPROVED')
  const changes = { orderStatus: 'CANCELED', payoutBatchId: null, updatedAt: at } as const
  const isDebt: Condition = (eb) => eb('debtId', 'in', waiting)
  await updateCommissions(trx, shopId, { range: singlePart(isDebt), condition: isDebt }, changes)
}

/** Releases every commission of a batch: it is approved again, and another batch may take it. Returns how many. */
export const releaseCommissions = (trx: Transaction, shopId: string, batchId: string, at: string): Promise<number> => {
  const changes = { orderStatus: 'APPROVED', payoutBatchId: null, updatedAt: at } as const
  const condition: Condition = (eb) => eb('orderStatus', '=', 'PAYABLE')
  return updateCommissions(trx, shopId, { range: ofBatch(batchId), condition }, changes)
}
