import { type ExpressionBuilder, type SelectQueryBuilder, sql } from 'kysely'
import type { Arrival } from '../../core/context.ts'
import { withPrefix } from '../../core/ids.ts'
import { countRows, hasId, joinSumParts, sumParts, withoutIndex } from '../../core/queries.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { inBatches, isSqlite, yieldToEventLoop } from '../../database/event-loop.ts'
import type { CandidateFilter, CommissionRow, Tables } from '../../database/tables.ts'
import { ineligibleAffiliates } from '../affiliates/queries.ts'
import { type Condition, ofPeriod } from './commissions.ts'

export type { CandidateFilter }

/** Earlier than every commission. */
export const BEGINNING = '0001-01-01T00:00:00.000Z'

/** The first instant that a batch selects. */
export const firstInstant = ({ periodStart, includeEarlier }: CandidateFilter): string =>
  includeEarlier ? BEGINNING : periodStart

/** Totals of one affiliate's commissions in one program and currency. */
export interface Subtotal {
  affiliateId: string
  programId: string | null
  currency: string
  commissions: number
  commissionAmountCents: bigint
  taxWithheldCents: bigint
}

/** A subtotal's amounts as read from the database, each in two parts. */
type Parts = Record<'centsHigh' | 'centsLow' | 'taxHigh' | 'taxLow', number>

/** Commissions read as approved may be in a batch by now. `PAYABLE` comes first, because a new batch adds to it. */
export const APPROVED: CommissionRow['orderStatus'][] = ['PAYABLE', 'APPROVED', 'ACCEPTED']

/**
 * Wraps a column so that the planner cannot use its index: the rows of a step are found by their IDs.
 *
 * PostgreSQL has no statistics for a new batch, and expects its index to find one row instead of a million. `coalesce`,
 * because an expression that is null for null would still match the partial index of commissions in batches.
 */
const unindexed = (column: keyof CommissionRow) => sql<string>`coalesce(${sql.ref(`commissions.${column}`)}, '')`

/** The filter without the period. An affiliate or a program has many more commissions than approved ones. */
const isSelected = (filter: CandidateFilter) => (eb: Commissions) => {
  const conditions = []
  if (filter.currency) conditions.push(eb(unindexed('currency'), '=', filter.currency))
  if (filter.affiliateIds) conditions.push(eb(unindexed('affiliateId'), 'in', filter.affiliateIds))
  if (filter.programId) conditions.push(eb(unindexed('programId'), '=', filter.programId))
  if (filter.exceptAffiliateIds?.length)
    conditions.push(eb(unindexed('affiliateId'), 'not in', filter.exceptAffiliateIds))
  return eb.and(conditions)
}

/** Commissions that are not in a batch and not zero. */
const isUnbatched = (shopId: string, filter: CandidateFilter) => (eb: Commissions) =>
  eb.and([
    eb('commissions.shopId', '=', shopId),
    eb('commissions.payoutBatchId', 'is', null),
    eb('commissions.commissionAmountCents', '<>', 0),
    isSelected(filter)(eb),
  ])

type Commissions = ExpressionBuilder<Tables, 'commissions'>

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

/** Whether commissions are on hold, and when the first of them becomes available. */
export interface Hold {
  isOnHold: 0 | 1
  nextAvailableAt: string
}

/** Without a hold in its terms, a commission is never on hold, not even if the order's clock was ahead. */
export const isOnHold = (at: string) => sql<boolean>`"availableAt" > ${at} and "availableAt" > "happenedAt"`

const onHold = (at: string) =>
  [
    sql<0 | 1>`case when ${isOnHold(at)} then 1 else 0 end`.as('isOnHold'),
    sql<string>`min("availableAt")`.as('nextAvailableAt'),
  ] as const

/** Totals of a period's approved commissions that are in no batch, and of those on hold. Reads all of them. */
export const sumCandidates = async (
  db: Reader,
  shopId: string,
  filter: CandidateFilter,
): Promise<(Subtotal & Hold)[]> =>
  toSubtotals(
    await subtotalsOf(db.selectFrom('commissions'))
      .select(onHold(filter.at))
      .groupBy(sql.ref('isOnHold'))
      // Few commissions are approved. PostgreSQL knows this only if the status is a literal. With both bounds, it
      // expects so few rows in any period that it reads the whole period.
      .where('orderStatus', 'in', APPROVED.map(sql.lit))
      .where('happenedAt', '>=', firstInstant(filter))
      .where(unindexed('happenedAt'), '<=', filter.periodEnd)
      .where(isUnbatched(shopId, filter))
      .execute(),
  )

/** Totals of one affiliate's approved commissions that are not in a batch. */
export interface UnbatchedSum extends Omit<Subtotal, 'programId'>, Hold {
  /** Whether they are `EARLIER` than the period, in it, or a debt that a batch for the period carried forward. */
  place: 'EARLIER' | 'PERIOD' | 'CARRIED'
  oldestAt: string
}

/**
 * Everything approved until the end of a period that is in no batch, with the debts dated one millisecond later. Reads
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
    .select(onHold(filter.at))
    .select((eb) => [eb.fn.countAll<number>().as('commissions'), eb.fn.min('happenedAt').as('oldestAt')])
    .select([CENTS.high.as('centsHigh'), CENTS.low.as('centsLow'), TAX.high.as('taxHigh'), TAX.low.as('taxLow')])
    .where(ofPeriod(APPROVED, BEGINNING, afterEnd))
    .where(isUnbatched(shopId, filter))
    .where((eb) => eb.or([eb('happenedAt', '<=', periodEnd), eb('debtId', 'is not', null)]))
    .groupBy(['currency', 'affiliateId', sql.ref('place'), sql.ref('isOnHold')])
    .execute()
  return toSubtotals(rows)
}

/** Whether a batch created or changed after a request arrived contains commissions that the request selects. */
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
    // A large batch may have taken them long after it was created. IDs distinguish batches created in the same
    // millisecond.
    .where((eb) => eb.or([eb('updatedAt', '>', arrivedAt), eb('id', '>', withPrefix('bat', arrival.id))]))
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

/** How many of the shop's commissions are approved. A new batch cannot contain more. */
export async function countApproved(db: Reader, shopId: string): Promise<number> {
  const counts = await Promise.all(APPROVED.map((status) => countRows(db, shopId, { list: 'commissions', status })))
  return counts.reduce((sum, count) => sum + count, 0)
}

/** Affiliates whose commissions are held back. */
export const listIneligibleAffiliateIds = async (db: Reader, shopId: string): Promise<string[]> =>
  (await ineligibleAffiliates(db, shopId).execute()).map(({ id }) => id)

/** A commission's position in lists, newest first. */
type Position = Pick<CommissionRow, 'happenedAt' | 'id'>

/** Sorts before every commission. */
const NEWEST: Position = { happenedAt: '9999-12-31T23:59:59.999Z', id: '~' }

/** How many of a batch's commissions change in one transaction. */
export const MAX_MOVED = 500

/** The IDs of commissions that a new batch takes, including any that changed since they were read. */
export async function* readCandidates(db: Reader, shopId: string, filter: CandidateFilter): AsyncGenerator<string[]> {
  const { currency, programId } = filter
  const affiliateIds = filter.affiliateIds && new Set(filter.affiliateIds)
  const exceptIds = new Set(filter.exceptAffiliateIds)
  const from = firstInstant(filter)
  let ids: string[] = []
  for (const status of APPROVED) {
    for (let after: Position | undefined = { happenedAt: filter.periodEnd, id: '~' }; after; ) {
      const read = await readApprovedPage(db, { shopId, status, after })
      // With a second bound, SQLite without statistics would use the index by time and read every status.
      const page = read.filter(({ happenedAt }) => happenedAt >= from)
      for (const row of page) {
        const isSelected =
          row.payoutBatchId === null &&
          row.commissionAmountCents !== 0 &&
          (row.availableAt <= filter.at || row.availableAt <= row.happenedAt) &&
          (!currency || row.currency === currency) &&
          (!programId || row.programId === programId) &&
          (!affiliateIds || affiliateIds.has(row.affiliateId)) &&
          !exceptIds.has(row.affiliateId)
        if (isSelected) ids.push(row.id)
      }
      if (ids.length >= MAX_MOVED) {
        yield ids.slice(0, MAX_MOVED)
        ids = ids.slice(MAX_MOVED)
      }
      after = page.length === MAX_MOVED ? page.at(-1) : undefined
      if (after) await yieldToEventLoop()
    }
  }
  if (ids.length > 0) yield ids
}

/**
 * Uses order and limit, because PostgreSQL expects a tenth of all rows between two positions and would read the table
 * for each page.
 */
const readApprovedPage = (
  db: Reader,
  { shopId, status, after }: { shopId: string; status: CommissionRow['orderStatus']; after: Position },
) =>
  db
    .selectFrom('commissions')
    .select(['happenedAt', 'id', 'affiliateId', 'programId', 'currency', 'commissionAmountCents', 'payoutBatchId'])
    .select('availableAt')
    .where('shopId', '=', shopId)
    .where('orderStatus', '=', status)
    .where((eb) => eb(eb.refTuple('happenedAt', 'id'), '<', eb.tuple(after.happenedAt, after.id)))
    .orderBy('happenedAt', 'desc')
    .orderBy('id', 'desc')
    .limit(MAX_MOVED)
    .execute()

/** The IDs of a batch's commissions. */
export async function* readBatch(db: Reader, shopId: string, batchId: string): AsyncGenerator<string[]> {
  for (let after: Position | undefined = NEWEST; after; ) {
    const { happenedAt, id }: Position = after
    const page: Position[] = await db
      .selectFrom('commissions')
      .select(['happenedAt', 'id'])
      .where('shopId', '=', shopId)
      .where('payoutBatchId', '=', batchId)
      .where((eb) => eb(eb.refTuple('happenedAt', 'id'), '<', eb.tuple(happenedAt, id)))
      .orderBy('happenedAt', 'desc')
      .orderBy('id', 'desc')
      .limit(MAX_MOVED)
      .execute()
    if (page.length > 0) yield page.map((row) => row.id)
    after = page.length === MAX_MOVED ? page.at(-1) : undefined
  }
}

/** The commissions that a batch takes, pays, or releases in one transaction. */
interface Step {
  shopId: string
  batchId: string
  /** `updatedAt` of the commissions, and when they are paid. */
  at: string
  ids: string[]
}

type Changes = Partial<Record<keyof CommissionRow, unknown>>

/** Changes a step's commissions that meet a condition, some at a time. Returns the changed ones. */
async function updateStep(trx: Transaction, { shopId, at, ids }: Step, changes: Changes, condition: Condition) {
  const moved: Pick<CommissionRow, 'id' | 'commissionAmountCents' | 'taxWithheldCents'>[] = []
  await inBatches(ids, async (some) => {
    const rows = await trx
      .updateTable('commissions')
      .set((eb) => ({ ...(changes as Partial<CommissionRow>), updatedAt: at, version: eb('version', '+', 1) }))
      .where('shopId', '=', shopId)
      .where(hasId(trx, some))
      .where(condition)
      .returning(['id', 'commissionAmountCents', 'taxWithheldCents'])
      .execute()
    moved.push(...rows)
  })
  return moved
}

/** Takes commissions that are still approved and in no batch, and whose affiliates can be paid. */
export const takeCommissions = (trx: Transaction, step: Step) =>
  updateStep(trx, step, { payoutBatchId: step.batchId, orderStatus: 'PAYABLE' }, (eb) =>
    eb.and([
      eb('payoutBatchId', 'is', null),
      eb(unindexed('orderStatus'), 'in', APPROVED),
      eb('commissionAmountCents', '<>', 0),
      eb.not(
        eb.exists(
          ineligibleAffiliates(trx, step.shopId).whereRef(
            'affiliates.id',
            '=',
            'commissions.affiliateId' as 'affiliates.id',
          ),
        ),
      ),
    ]),
  )

export const payCommissions = (trx: Transaction, step: Step) =>
  updateStep(trx, step, paidColumns(step.at), (eb) =>
    eb.and([eb(unindexed('payoutBatchId'), '=', step.batchId), isUnpaid(eb)]),
  )

/** Makes them `APPROVED` again and available to other batches. */
export const releaseCommissions = (trx: Transaction, step: Step) =>
  updateStep(trx, step, { payoutBatchId: null, orderStatus: 'APPROVED' }, (eb) =>
    eb.and([eb(unindexed('payoutBatchId'), '=', step.batchId), eb(unindexed('orderStatus'), '=', 'PAYABLE')]),
  )

/**
 * Orders by the index that finds one affiliate's commissions in a batch. Without statistics for a new batch, PostgreSQL
 * also expects one row from the batch's index, and would read the whole batch for each affiliate.
 */
export const BY_AFFILIATE = 'commissionAmountCents'

/** Does not use the status index, because the shop has many commissions in these statuses. */
const STATUS = sql<string>`"orderStatus" || ''`

/**
 * Whether a batch's commission is still unpaid. A commission reversed after its payment was sent is part of the
 * payment, and stays `REVERSED`.
 */
export const isUnpaid = (eb: Commissions) =>
  eb.or([eb(STATUS, '=', 'PAYABLE'), eb.and([eb(STATUS, '=', 'REVERSED'), eb('paidAt', 'is', null)])])

/** The columns that payment sets on a commission that `isUnpaid`. */
export const paidColumns = (paidAt: string) => ({
  orderStatus: sql<CommissionRow['orderStatus']>`case when "orderStatus" = 'REVERSED' then 'REVERSED' else 'PAID' end`,
  paidAt,
  updatedAt: paidAt,
})

/** The lowest amount among an affiliate's commissions in a batch, in cents. Undefined without commissions. */
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

/** The totals of one affiliate's commissions in a batch. */
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
  // SQLite uses the index that matches the most columns, whatever the order.
  if (isSqlite(trx)) return toSubtotals(await subtotalsOf(ofAffiliate.clearSelect()).execute())
  return toSubtotals(await subtotalsOf(trx.selectFrom(ofAffiliate.orderBy(BY_AFFILIATE).as('commissions'))).execute())
}

/** The totals of several batches' commissions. */
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
    // Searched among the debts, because a batch may have a million commissions.
    .where(withoutIndex(trx, 'balancing.payoutBatchId'), '=', batchId)
    .whereRef('balancing.debtId', '=', 'balancing.id')
    // Matches the partial index of debts.
    .where('balancing.debtId', 'is not', null)
    .where('open.debtId', 'is not', null)
    .whereRef('open.debtId', '<>', 'open.id')
    .where('open.payoutBatchId', 'is', null)
    // Searched by debt, because a shop has many approved commissions.
    .where(withoutIndex(trx, 'open.orderStatus'), '=', 'APPROVED')
  const rows = await trx
    .selectFrom('commissions')
    .select('id')
    .where('shopId', '=', shopId)
    .where('debtId', 'in', uncollected)
    .execute()
  const step = { shopId, batchId, at, ids: rows.map(({ id }) => id) }
  const changed = await updateStep(trx, step, { orderStatus: 'CANCELED', payoutBatchId: null }, (eb) =>
    eb('debtId', 'is not', null),
  )
  return changed.length
}
