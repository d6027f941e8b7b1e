import { type Expression, sql } from 'kysely'
import { hasId, joinSumParts, sumParts } from '../../core/queries.ts'
import type { Reader } from '../../database/database.ts'
import type { CommissionRow, PayoutBatchRow, RefundRow } from '../../database/tables.ts'

/** One affiliate and a period, both instants inclusive. */
export interface StatementScope {
  shopId: string
  affiliateId: string
  periodStart: string
  periodEnd: string
}

/** Statuses whose amount the affiliate has earned. */
export const EARNED: CommissionRow['orderStatus'][] = [
  'APPROVED',
  'ACCEPTED',
  'PAYABLE',
  'PAID',
  'REVERSED',
  'REFUNDED',
]

const CENTS = sumParts('commissionAmountCents')
const TAX = sumParts('taxWithheldCents')

const ofAffiliate = (db: Reader, { shopId, affiliateId }: Pick<StatementScope, 'shopId' | 'affiliateId'>) =>
  db
    .selectFrom('commissions')
    .where('commissions.shopId', '=', shopId)
    .where('commissions.affiliateId', '=', affiliateId)

export type StatementCommission = Pick<
  CommissionRow,
  | 'id'
  | 'orderId'
  | 'externalOrderId'
  | 'orderName'
  | 'currency'
  | 'commissionType'
  | 'commissionBaseCents'
  | 'commissionRateBps'
  | 'commissionAmountCents'
  | 'taxWithheldCents'
  | 'trackingMethod'
  | 'restrictionReasonCode'
  | 'orderStatus'
  | 'termsRule'
  | 'availableAt'
  | 'debtId'
  | 'happenedAt'
>

/** The commissions and adjustments of the period, oldest first. */
export const listCommissionsOf = (db: Reader, account: StatementScope): Promise<StatementCommission[]> =>
  ofAffiliate(db, account)
    .select([
      'commissions.id',
      'orderId',
      'externalOrderId',
      'orderName',
      'currency',
      'commissionType',
      'commissionBaseCents',
      'commissionRateBps',
      'commissionAmountCents',
      'taxWithheldCents',
      'trackingMethod',
      'restrictionReasonCode',
      'orderStatus',
      'termsRule',
      'availableAt',
      'debtId',
      'happenedAt',
    ])
    .where('happenedAt', '>=', account.periodStart)
    .where('happenedAt', '<=', account.periodEnd)
    .orderBy('happenedAt')
    .orderBy('commissions.id')
    .execute()

/** Refunds that reduced a commission before it was paid. Later ones have their own adjustment. */
export type StatementRefund = Pick<
  RefundRow,
  'commissionId' | 'externalRefundId' | 'reason' | 'goodsCents' | 'commissionCents' | 'taxCents' | 'occurredAt'
> &
  Pick<CommissionRow, 'orderId' | 'orderName' | 'externalOrderId' | 'currency' | 'orderCurrency' | 'happenedAt'> & {
    orderStatus: CommissionRow['orderStatus']
  }

/** Refunds of unpaid commissions whose order or refund is in the period or later. */
export const listRefundsOf = (db: Reader, account: Omit<StatementScope, 'periodEnd'>): Promise<StatementRefund[]> =>
  ofAffiliate(db, account)
    .innerJoin('refunds', (join) =>
      join.onRef('refunds.shopId', '=', 'commissions.shopId').onRef('refunds.commissionId', '=', 'commissions.id'),
    )
    .select([
      'refunds.commissionId',
      'refunds.externalRefundId',
      'refunds.reason',
      'refunds.goodsCents',
      'refunds.commissionCents',
      'refunds.taxCents',
      'refunds.occurredAt',
      'orderId',
      'orderName',
      'externalOrderId',
      'currency',
      'orderCurrency',
      'happenedAt',
      'orderStatus',
    ])
    .where('refunds.adjustmentId', 'is', null)
    .where((eb) =>
      eb.or([eb('refunds.occurredAt', '>=', account.periodStart), eb('happenedAt', '>=', account.periodStart)]),
    )
    .orderBy('refunds.occurredAt')
    .orderBy('refunds.id')
    .execute()

interface Sum {
  currency: string
  netCents: bigint
}

type SumRow = Record<'centsHigh' | 'centsLow' | 'taxHigh' | 'taxLow', number> & { currency: string }

const netOf = ({ currency, centsHigh, centsLow, taxHigh, taxLow }: SumRow): Sum => ({
  currency,
  netCents: joinSumParts(centsHigh, centsLow) - joinSumParts(taxHigh, taxLow),
})

const sums = [
  CENTS.high.as('centsHigh'),
  CENTS.low.as('centsLow'),
  TAX.high.as('taxHigh'),
  TAX.low.as('taxLow'),
] as const

/** Sums earned before the period, as they are now. */
export const sumEarnedBefore = async (db: Reader, account: StatementScope): Promise<Sum[]> =>
  (
    await ofAffiliate(db, account)
      .select('currency')
      .select(sums)
      .where('happenedAt', '<', account.periodStart)
      .where('orderStatus', 'in', EARNED)
      .groupBy('currency')
      .execute()
  ).map(netOf)

/** Sums paid before the period. */
export const sumPaidBefore = async (db: Reader, account: StatementScope): Promise<Sum[]> =>
  (
    await ofAffiliate(db, account)
      .select('currency')
      .select(sums)
      .where('commissions.paidAt', '<', account.periodStart)
      .groupBy('currency')
      .execute()
  ).map(netOf)

export interface StatementPayment extends Sum {
  payoutBatchId: string
  commissions: number
  paidAt: string
  periodStart: PayoutBatchRow['periodStart']
  periodEnd: PayoutBatchRow['periodEnd']
}

/** Payments in the period, by batch. */
export async function listPayments(db: Reader, account: StatementScope): Promise<StatementPayment[]> {
  const rows = await ofAffiliate(db, account)
    .innerJoin('payoutBatches', (join) =>
      join
        .onRef('payoutBatches.shopId', '=', 'commissions.shopId')
        .onRef('payoutBatches.id', '=', 'commissions.payoutBatchId'),
    )
    .select([
      'commissions.currency',
      'payoutBatches.id as payoutBatchId',
      'payoutBatches.periodStart',
      'payoutBatches.periodEnd',
    ])
    .select('commissions.paidAt')
    .select((eb) => eb.fn.countAll<number>().as('commissions'))
    .select(sums)
    .where('commissions.paidAt', '>=', account.periodStart)
    .where('commissions.paidAt', '<=', account.periodEnd)
    .groupBy([
      'commissions.currency',
      'payoutBatches.id',
      'payoutBatches.periodStart',
      'payoutBatches.periodEnd',
      'commissions.paidAt',
    ])
    .execute()
  return rows.map((row) => ({
    ...netOf(row),
    payoutBatchId: row.payoutBatchId,
    commissions: row.commissions,
    paidAt: row.paidAt ?? '',
    periodStart: row.periodStart,
    periodEnd: row.periodEnd,
  }))
}

/** A sum in one of several periods: 0 before the first bound, and one more after each bound. */
export interface SlotSum extends Sum {
  slot: number
}

type SlotRow = SumRow & { slot: number }

/** How many of the ascending bounds an instant has reached. */
const slotOf = (at: Expression<string | null>, bounds: string[]) => {
  const cases = bounds.map((bound, reached) => sql`when ${at} < ${bound} then ${sql.lit(reached)}`)
  return sql<number>`case ${sql.join(cases, sql` `)} end`.as('slot')
}

/** Sums earned before each of the ascending bounds, as they are now. */
export async function sumEarnedBySlot(
  db: Reader,
  account: Pick<StatementScope, 'shopId' | 'affiliateId'>,
  bounds: string[],
) {
  const rows: SlotRow[] = await ofAffiliate(db, account)
    .select(slotOf(sql.ref('commissions.happenedAt'), bounds))
    .select('currency')
    .select(sums)
    .where('happenedAt', '<', bounds.at(-1) ?? '')
    .where('orderStatus', 'in', EARNED)
    .groupBy([sql.ref('slot'), 'currency'])
    .execute()
  return rows.map((row): SlotSum => ({ slot: row.slot, ...netOf(row) }))
}

/** Sums paid before each of the ascending bounds. */
export async function sumPaidBySlot(
  db: Reader,
  account: Pick<StatementScope, 'shopId' | 'affiliateId'>,
  bounds: string[],
) {
  const rows: SlotRow[] = await ofAffiliate(db, account)
    .select(slotOf(sql.ref('commissions.paidAt'), bounds))
    .select('currency')
    .select(sums)
    .where('commissions.paidAt', '<', bounds.at(-1) ?? '')
    .groupBy([sql.ref('slot'), 'currency'])
    .execute()
  return rows.map((row): SlotSum => ({ slot: row.slot, ...netOf(row) }))
}

/** When the first order or adjustment of the affiliate happened. */
export async function findFirstInstant(
  db: Reader,
  { shopId, affiliateId }: Pick<StatementScope, 'shopId' | 'affiliateId'>,
): Promise<string | undefined> {
  const [first] = await db
    .selectFrom('commissions')
    .select('happenedAt')
    .where('shopId', '=', shopId)
    .where('affiliateId', '=', affiliateId)
    .orderBy('happenedAt')
    .orderBy('id')
    .limit(1)
    .execute()
  return first?.happenedAt
}

/** The orders of these commissions. */
export const listOrdersOf = (db: Reader, shopId: string, ids: string[]) =>
  db
    .selectFrom('commissions')
    .select(['id', 'orderId', 'orderName', 'externalOrderId'])
    .where('shopId', '=', shopId)
    .where(hasId(db, ids))
    .execute()
