import { findCommission, findCommissionsById } from '../commissions/queries.ts'
import { findByOrderName } from '../commissions/search.ts'
import { invalid } from '../contract/errors.ts'
import type { Context } from '../core/context.ts'
import type { CommissionRow, OrderRow } from '../database/tables.ts'
import { storedOrderIds } from '../engine/normalize.ts'
import { parseFacts } from '../engine/stored-facts.ts'
import { findOrder, findUncreditedByName, listOrders } from './queries.ts'

/** The outcome of an order that was credited to no affiliate. */
export const NO_AFFILIATE = 'NOBODY'

/** A reported order in a list. */
export interface ReportedOrder {
  orderId: string
  /** As the merchant knows it. */
  name: string
  orderAt: string
  /** Goods after discount, in the currency of the order. */
  goodsCents: number
  orderCurrency: string
  /** The status of its commission, `NOBODY` without one. */
  outcome: CommissionRow['orderStatus'] | typeof NO_AFFILIATE
  affiliateId: string | null
  /** Current amount, in its own currency. */
  commission: { cents: number; currency: string } | null
}

/**
 * Lists reported orders, newest first, including those without a commission.
 *
 * @param after the stored id of the last order of the previous page
 * @throws ApiError 400 `invalid_parameter` for an unknown one.
 */
export async function listReported(
  ctx: Context,
  after: string | undefined,
  limit: number,
): Promise<{ data: ReportedOrder[]; next: string | undefined }> {
  const { db, shop } = ctx
  const last = after === undefined ? undefined : await findOrder(db.read, shop.id, after)
  if (after !== undefined && !last) throw invalid('invalid_parameter', 'after must be the id of an order of this list.')
  const rows = await listOrders(db.read, shop.id, last ? { after: last } : {}, limit + 1)
  const page = rows.slice(0, limit)
  const data = await describe(ctx, page)
  return { data, next: rows.length > limit ? page.at(-1)?.orderId : undefined }
}

/** Finds reported orders by name or id, as typed or in capitals, or by the id of their commission. */
export async function findReported(ctx: Context, text: string, limit: number): Promise<ReportedOrder[]> {
  const { db, shop } = ctx
  const spellings = [...new Set([text, text.toUpperCase()])]
  const stored = spellings.map(storedOrderIds).flatMap(({ exact, bySource }) => [...exact, ...bySource])
  const [commission, ...named] = await Promise.all([
    findCommission(db.read, shop.id, text),
    ...spellings.map((one) => findByOrderName(ctx, one)),
  ])
  const uncredited = await Promise.all(spellings.map((one) => findUncreditedByName(db.read, shop.id, one)))
  const credited = [commission, ...named.flat()].map((one) => one?.orderId)
  const ids = new Set([...stored, ...credited, ...uncredited].filter((id) => id !== undefined))
  const rows = await Promise.all([...ids].map((id) => findOrder(db.read, shop.id, id)))
  return describe(ctx, rows.filter((row) => row !== undefined).slice(0, limit))
}

async function describe({ db, shop }: Context, rows: OrderRow[]): Promise<ReportedOrder[]> {
  const ids = rows.flatMap(({ commissionId }) => commissionId ?? [])
  const commissions = new Map((await findCommissionsById(db.read, shop.id, ids)).map((row) => [row.id, row]))
  return rows.map((row): ReportedOrder => {
    const own = row.commissionId === null ? undefined : commissions.get(row.commissionId)
    return {
      orderId: row.orderId,
      name: own?.orderName || row.orderName || parseFacts(row.facts).order.externalOrderId,
      orderAt: row.orderAt,
      goodsCents: row.goodsCents,
      orderCurrency: row.orderCurrency,
      outcome: own?.orderStatus ?? NO_AFFILIATE,
      affiliateId: own?.affiliateId ?? null,
      commission: own ? { cents: own.commissionAmountCents, currency: own.currency } : null,
    }
  })
}

/** The stored id of the order with a name, such as `#1001`. Stores put `#` before it, which may be left out. */
export async function findIdByName(ctx: Context, name: string): Promise<string | undefined> {
  const [credited] = await findByOrderName(ctx, name)
  return credited?.orderId ?? findUncreditedByName(ctx.db.read, ctx.shop.id, name)
}

/** The name of an order as the merchant knows it, if its report contained one. */
export const findOrderName = async ({ db, shop }: Context, orderId: string): Promise<string | null> =>
  (await findOrder(db.read, shop.id, orderId))?.orderName ?? null
