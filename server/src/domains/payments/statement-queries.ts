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

type Account = Pick<StatementScope, 'shopId' | 'affiliateId'>

async function sumBySlot(
  commissions: ReturnType<typeof ofAffiliate>,
  column: 'happenedAt' | 'paidAt',
  bounds: string[],
): Promise<SlotSum[]> {
  const rows: SlotRow[] = await commissions
    .select(slotOf(sql.ref(`commissions.${column}`), bounds))
    .select('currency')
    .select(sums)
    .where(column, '<', bounds.at(-1) ?? '')
    .groupBy([sql.ref('slot'), 'currency'])
    .execute()
  return rows.map((row) => ({ slot: row.slot, ...netOf(row) }))
}

/** Totals earned before each of the ascending bounds, as of now. */
export const sumEarnedBySlot = (db: Reader, account: Account, bounds: string[]) =>
  sumBySlot(ofAffiliate(db, account).where('orderStatus', 'in', EARNED), 'happenedAt', bounds)

/** Totals paid before each of the ascending bounds. */
export const sumPaidBySlot = (db: Reader, account: Account, bounds: string[]) =>
  sumBySlot(ofAffiliate(db, account), 'paidAt', bounds)

/** When the affiliate's first order or adjustment happened. */
export async function findFirstInstant(db: Reader, account: Account): Promise<string | undefined> {
  const oldestFirst = ofAffiliate(db, account).select('happenedAt').orderBy('happenedAt').orderBy('id')
  return (await oldestFirst.limit(1).executeTakeFirst())?.happenedAt
}

/** The orders of these commissions. */
export const listOrdersOf = (db: Reader, shopId: string, ids: string[]) =>
  db
    .selectFrom('commissions')
    .select(['id', 'orderId', 'orderName', 'externalOrderId'])
    .where('shopId', '=', shopId)
    .where(hasId(db, ids))
    .execute()
