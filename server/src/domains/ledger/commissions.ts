import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely'
import type { components } from '../../contract/schema.d.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { isOneOf, withoutIndex } from '../../core/queries.ts'
import { chunks } from '../../database/chunks.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { inBatches, isSqlite } from '../../database/event-loop.ts'
import { findRow, insertRow, pick } from '../../database/rows.ts'
import type { CommissionRow, RefundRow, RefundTotalsRow, Tables } from '../../database/tables.ts'
import type { CountedOrders, Decision, Order } from '../../engine/facts.ts'

export const findCommission = (db: Reader, shopId: string, id: string): Promise<CommissionRow | undefined> =>
  findRow(db, 'commissions', { shopId, id })

/** By the stored order id, such as `api:1001`. */
export const findCommissionByOrder = (
  db: Reader,
  shopId: string,
  orderId: string,
): Promise<CommissionRow | undefined> => findRow(db, 'commissions', { shopId, orderId })

export const insertCommission = (trx: Transaction, shopId: string, row: Omit<CommissionRow, 'shopId'>): Promise<void> =>
  insertRow(trx, 'commissions', { shopId, ...row })

export async function findCommissionsById(db: Reader, shopId: string, ids: string[]): Promise<CommissionRow[]> {
  // PostgreSQL rejects an empty list.
  if (ids.length === 0) return []
  return (
    db
      .selectFrom('commissions')
      .selectAll()
      .where('shopId', '=', shopId)
      .where('id', 'in', ids)
      // Sorted after they are found; otherwise SQLite would scan the whole shop in this order.
      .orderBy(withoutIndex(db, 'happenedAt'))
      .orderBy('id')
      .execute()
  )
}

/** Rows per insert; PostgreSQL accepts 65,535 values in a statement. */
const MAX_INSERTED = 400

/** Inserts commissions of a shop, in the caller's transaction. */
export async function insertCommissions(
  trx: Transaction,
  shopId: string,
  rows: Omit<CommissionRow, 'shopId'>[],
): Promise<void> {
  if (isSqlite(trx)) {
    await inBatches(rows, async (some) => {
      for (const row of some) await insertCommission(trx, shopId, row)
    })
    return
  }
  for (const some of chunks(rows, MAX_INSERTED))
    await trx
      .insertInto('commissions')
      .values(some.map((row) => ({ shopId, ...row })))
      .execute()
}

export type Condition = (eb: ExpressionBuilder<Tables, 'commissions'>) => Expression<SqlBool>

/** The commissions of some statuses in a period; both instants are inclusive. */
export const ofPeriod =
  (statuses: CommissionRow['orderStatus'][], from: string, to: string): Condition =>
  (eb) =>
    eb.and([eb('orderStatus', 'in', statuses), eb('happenedAt', '>=', from), eb('happenedAt', '<=', to)])

/** The columns in which adjustments differ. Amounts are in cents and may be negative. */
type AdjustmentColumns = Pick<
  CommissionRow,
  | 'id'
  | 'orderId'
  | 'affiliateId'
  | 'programId'
  | 'currency'
  | 'orderCurrency'
  | 'commissionAmountCents'
  | 'taxWithheldCents'
  | 'orderStatus'
  | 'payoutBatchId'
  | 'debtId'
  | 'happenedAt'
>

/** A row without its own order: a refund of a paid commission, a reversal, or a debt that is carried forward. */
export function adjustmentRow(ctx: Pick<Context, 'now'>, columns: AdjustmentColumns): Omit<CommissionRow, 'shopId'> {
  const createdAt = nowIso(ctx)
  return {
    ...columns,
    externalOrderId: null,
    orderName: null,
    commissionType: null,
    commissionBaseCents: 0,
    remainingBaseCents: 0,
    commissionRateBps: 0,
    orderSubtotalCents: 0,
    orderDiscountCents: 0,
    orderShippingCents: 0,
    orderTaxCents: 0,
    trackingMethod: 'ADJUSTMENT',
    attributionMethod: null,
    attributionReasonCode: null,
    restrictionReasonCode: null,
    termsVersion: null,
    termsRule: null,
    availableAt: columns.happenedAt,
    customer: null,
    paidAt: null,
    createdAt,
    updatedAt: createdAt,
    version: 1,
  }
}

const refunds = (db: Reader, shopId: string, commissionId: string) =>
  db.selectFrom('refunds').selectAll().where('shopId', '=', shopId).where('commissionId', '=', commissionId)

/** The first of these refunds, by id. */
export const findRefund = (
  db: Reader,
  shopId: string,
  commissionId: string,
  externalRefundIds: string[],
): Promise<RefundRow | undefined> =>
  refunds(db, shopId, commissionId)
    .where('externalRefundId', 'in', externalRefundIds)
    .orderBy('externalRefundId')
    .executeTakeFirst()

/** All refunds of a commission's order and their cancellations, in the order of receipt. */
export const listRefunds = (db: Reader, shopId: string, commissionId: string): Promise<RefundRow[]> =>
  refunds(db, shopId, commissionId).orderBy('id').execute()

/** The ids of these refunds and cancellations, in the order of receipt. */
export async function listRefundIds(db: Reader, shopId: string, commissionId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('refunds')
    .select('externalRefundId')
    .where('shopId', '=', shopId)
    .where('commissionId', '=', commissionId)
    .orderBy('id')
    .execute()
  return rows.map(({ externalRefundId }) => externalRefundId)
}

/** Adds to a commission's last refund what its refunds did not count while it was rejected. */
export async function settleRefunds(
  trx: Transaction,
  shopId: string,
  commissionId: string,
  { amountCents, taxCents }: { amountCents: number; taxCents: number },
): Promise<void> {
  const all = sql`from refunds as a where a."shopId" = ${shopId} and a."commissionId" = ${commissionId}`
  await sql`update refunds
    set "commissionCents" = "commissionCents" + ${amountCents} - (select sum(a."commissionCents") ${all}),
      "taxCents" = "taxCents" + ${taxCents} - (select sum(a."taxCents") ${all})
    where "shopId" = ${shopId} and "commissionId" = ${commissionId} and id = (select max(a.id) ${all})`.execute(trx)
}

/** A commission's running refund totals. Undefined before they are first stored. */
export const findRefundTotals = (
  db: Reader,
  shopId: string,
  commissionId: string,
): Promise<RefundTotalsRow | undefined> => findRow(db, 'refundTotals', { shopId, commissionId })

/** The goods that were refunded of up to a page of commissions, in cents by commission id; without those that have no refund. */
export async function listRefundedCents(db: Reader, shopId: string, ids: string[]): Promise<Map<string, number>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('refundTotals')
    .select(['commissionId', 'goodsCents'])
    .where('shopId', '=', shopId)
    .where(isOneOf(db, 'commissionId', ids))
    .execute()
  return new Map(rows.map(({ commissionId, goodsCents }) => [commissionId, goodsCents]))
}

export async function upsertRefundTotals(
  trx: Transaction,
  shopId: string,
  { commissionId, goodsCents, totals, statusBefore }: Omit<RefundTotalsRow, 'shopId'>,
): Promise<void> {
  const changes = { goodsCents, totals, statusBefore }
  await trx
    .insertInto('refundTotals')
    .values({ shopId, commissionId, ...changes })
    .onConflict((conflict) => conflict.columns(['shopId', 'commissionId']).doUpdateSet(changes))
    .execute()
}

/** The columns of openapi.yaml, in its order. */
export const COMMISSION_COLUMNS = [
  'id',
  'affiliateId',
  'programId',
  'externalOrderId',
  'orderId',
  'orderName',
  'currency',
  'orderCurrency',
  'commissionType',
  'commissionBaseCents',
  'remainingBaseCents',
  'commissionRateBps',
  'commissionAmountCents',
  'taxWithheldCents',
  'orderSubtotalCents',
  'orderDiscountCents',
  'orderShippingCents',
  'orderTaxCents',
  'trackingMethod',
  'attributionMethod',
  'attributionReasonCode',
  'restrictionReasonCode',
  'orderStatus',
  'payoutBatchId',
  'termsVersion',
  'termsRule',
  'availableAt',
  'happenedAt',
  'paidAt',
  'createdAt',
  'updatedAt',
] as const satisfies (keyof CommissionRow)[]

/** A row as in openapi.yaml, without internal columns. */
export const toCommission = (row: CommissionRow): components['schemas']['Commission'] => pick(row, COMMISSION_COLUMNS)

/** Statuses of orders that earn. An order that earns nothing is `REJECTED`. */
const CREDITED: CommissionRow['orderStatus'][] = ['PENDING', 'APPROVED', 'ACCEPTED', 'PAYABLE', 'PAID']

/** An affiliate's credited orders of a period, and their goods in one currency. @param before exclusive */
export async function countCredited(
  db: Reader,
  shopId: string,
  { affiliateId, from, before, currency }: { affiliateId: string; from: string; before: string; currency: string },
): Promise<CountedOrders> {
  const revenue = sql<number>`cast(coalesce(sum(case when o."orderCurrency" = ${currency} then o."goodsCents" else 0 end), 0) as bigint)`
  return db
    .selectFrom('commissions as c')
    .innerJoin('orders as o', (join) => join.onRef('o.shopId', '=', 'c.shopId').onRef('o.orderId', '=', 'c.orderId'))
    .select((eb) => [eb.fn.countAll<number>().as('orders'), revenue.as('revenueCents')])
    .where('c.shopId', '=', shopId)
    .where('c.affiliateId', '=', affiliateId)
    .where('c.happenedAt', '>=', from)
    .where('c.happenedAt', '<', before)
    .where('c.orderStatus', 'in', CREDITED)
    .executeTakeFirstOrThrow()
}

/** What the terms of the program decided. */
export const termsColumns = (
  { terms, programId }: Decision,
  { orderAt }: Order,
): Pick<CommissionRow, 'termsVersion' | 'termsRule' | 'availableAt'> => ({
  termsVersion: terms?.version ?? (programId === null ? null : 1),
  termsRule: terms?.rule ?? null,
  availableAt: terms?.availableAt ?? orderAt,
})

/** A stored decision with the fields that decisions of earlier versions lack. */
export const toDecision = (decision: Decision, orderCurrency: string) => ({
  ...decision,
  currency: decision.currency ?? orderCurrency,
  terms: decision.terms ?? null,
  candidates: decision.candidates.map((candidate) => ({ ...candidate, alias: candidate.alias ?? null })),
  groups: decision.groups.map((group) => ({ ...group, unpaidReasonCode: group.unpaidReasonCode ?? null })),
})

/** An adjustment that takes money of a paid commission back, or returns it; the next batch nets it. */
export const clawbackRow = (
  ctx: Context,
  { id, affiliateId, programId, currency, orderCurrency }: CommissionRow,
  { name, amountCents, taxCents }: { name: string; amountCents: number; taxCents: number },
): Omit<CommissionRow, 'shopId'> =>
  adjustmentRow(ctx, {
    id: ctx.newId('com'),
    orderId: `adj:${id}:${name}`,
    affiliateId,
    programId,
    currency,
    orderCurrency,
    commissionAmountCents: amountCents,
    taxWithheldCents: taxCents,
    orderStatus: 'APPROVED',
    payoutBatchId: null,
    debtId: null,
    happenedAt: nowIso(ctx),
  })
