import { sql } from 'kysely'
import { joinSumParts, sumParts } from '../../core/queries.ts'
import type { Reader } from '../../database/database.ts'

/** A page's last row. */
export interface LedgerCursor {
  at: string
  id: string
}

interface LedgerFilter {
  from: string
  to: string
  after: LedgerCursor
}

const PAGE_SIZE = 1000

/** Orders and adjustments by time, with the total of the refunds that reduced them. */
export async function listLedgerCommissions(db: Reader, shopId: string, { from, to, after }: LedgerFilter) {
  const refunded = (column: 'commissionCents' | 'taxCents') =>
    sql<number>`cast(coalesce((select sum(r.${sql.ref(column)}) from refunds r where r."shopId" = commissions."shopId"
      and r."commissionId" = commissions.id and r."adjustmentId" is null), 0) as bigint)`
  const page = await db
    .selectFrom('commissions')
    .where('commissions.shopId', '=', shopId)
    .select([
      'commissions.id',
      'affiliateId',
      'externalOrderId',
      'orderId',
      'currency',
      'commissionAmountCents',
      'taxWithheldCents',
      'trackingMethod',
      'happenedAt',
      'orderStatus',
      'payoutBatchId',
      refunded('commissionCents').as('refundedCents'),
      refunded('taxCents').as('refundedTaxCents'),
    ])
    .where('happenedAt', '>=', from)
    .where('happenedAt', '<=', to)
    .where((eb) => eb(eb.refTuple('commissions.happenedAt', 'commissions.id'), '>', eb.tuple(after.at, after.id)))
    .orderBy('happenedAt')
    .orderBy('commissions.id')
    .limit(PAGE_SIZE)
    .execute()
  const last = page.at(-1)
  return { page, next: last && page.length === PAGE_SIZE ? { at: last.happenedAt, id: last.id } : null }
}

/** {@link refundedAt} in SQL: a refund dated before its order takes effect with the order. */
const REFUNDED_AT = sql<string>`case when refunds."occurredAt" < commissions."happenedAt" then commissions."happenedAt"
  else refunds."occurredAt" end`

/** Refunds of commissions that were unpaid. Ordered by primary key, which is also the cursor. */
export async function listLedgerRefunds(db: Reader, shopId: string, { from, to, after }: LedgerFilter) {
  const page = await db
    .selectFrom('commissions')
    .where('commissions.shopId', '=', shopId)
    .innerJoin('refunds', (join) =>
      join.onRef('refunds.shopId', '=', 'commissions.shopId').onRef('refunds.commissionId', '=', 'commissions.id'),
    )
    .select([
      'refunds.commissionId',
      'refunds.externalRefundId',
      'refunds.commissionCents',
      'refunds.taxCents',
      REFUNDED_AT.as('refundedAt'),
      'affiliateId',
      'externalOrderId',
      'orderId',
      'currency',
      'orderStatus',
      'payoutBatchId',
    ])
    .where('refunds.adjustmentId', 'is', null)
    .where(REFUNDED_AT, '>=', from)
    .where(REFUNDED_AT, '<=', to)
    .where((eb) =>
      eb(eb.refTuple('refunds.commissionId', 'refunds.externalRefundId'), '>', eb.tuple(after.at, after.id)),
    )
    .orderBy('refunds.commissionId')
    .orderBy('refunds.externalRefundId')
    .limit(PAGE_SIZE)
    .execute()
  const last = page.at(-1)
  return { page, next: last && page.length === PAGE_SIZE ? { at: last.commissionId, id: last.externalRefundId } : null }
}

/** The next batch, by ID, that can contain payments in the period. */
export const findLedgerBatch = (db: Reader, shopId: string, { from, to, after }: LedgerFilter) =>
  db
    .selectFrom('payoutBatches')
    .select('id')
    .where('shopId', '=', shopId)
    .where('id', '>', after.id)
    .where('createdAt', '<=', to)
    // A batch's last payment is not later than its last change.
    .where((eb) => eb.or([eb('status', 'in', ['OPEN', 'PROCESSING']), eb('updatedAt', '>=', from)]))
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()

/** Payments to each affiliate by a batch in the period; {@link listPayments} for all affiliates. */
export async function listLedgerPayments(
  db: Reader,
  shopId: string,
  { batchId, from, to }: Pick<LedgerFilter, 'from' | 'to'> & { batchId: string },
) {
  const [cents, tax] = [sumParts('commissionAmountCents'), sumParts('taxWithheldCents')]
  const rows = await db
    .selectFrom('commissions')
    .where('commissions.shopId', '=', shopId)
    .select(['affiliateId', 'currency', 'paidAt'])
    .select([cents.high.as('centsHigh'), cents.low.as('centsLow'), tax.high.as('taxHigh'), tax.low.as('taxLow')])
    .where('commissions.payoutBatchId', '=', batchId)
    .where('paidAt', '>=', from)
    .where('paidAt', '<=', to)
    .groupBy(['affiliateId', 'currency', 'paidAt'])
    .orderBy('paidAt')
    .orderBy('affiliateId')
    .execute()
  return rows.map(({ affiliateId, currency, paidAt, centsHigh, centsLow, taxHigh, taxLow }) => ({
    affiliateId,
    currency,
    at: paidAt ?? '',
    // A batch never pays more than can be represented exactly.
    commissionCents: Number(joinSumParts(centsHigh, centsLow)),
    taxWithheldCents: Number(joinSumParts(taxHigh, taxLow)),
  }))
}
