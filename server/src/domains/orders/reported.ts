import { invalidField } from '../../contract/errors.ts'
import type { Context } from '../../core/context.ts'
import { MAX_INLINE_ROWS, readerOf, readFrom } from '../../core/lists.ts'
import type { CommissionRow } from '../../database/tables.ts'
import { storedOrderIds } from '../../engine/normalize.ts'
import { parseFacts } from '../../engine/stored-facts.ts'
import { findByOrderName } from '../commissions/search.ts'
import { findCommission, findCommissionsById, listRefundedCents } from '../ledger/commissions.ts'
import {
  findOrder,
  findOrdersById,
  findUncreditedByName,
  listPossibleDuplicates,
  type OrderSummary,
} from '../ledger/orders.ts'
import {
  isByCommission,
  MAX_NUMBERED,
  NO_AFFILIATE,
  type OrderFilter,
  type OrderSearch,
  type Outcome,
  orderList,
} from './search.ts'

/** A reported order in a list. */
export interface ReportedOrder {
  orderId: string
  /** As the merchant knows it. */
  name: string
  orderAt: string
  /** Goods after discount, in the currency of the order. */
  goodsCents: number
  /** Goods that were refunded; 0 without a commission, because refunds are then not applied. */
  refundedCents: number
  orderCurrency: string
  outcome: Outcome
  affiliateId: string | null
  /** Current amount, in its own currency. */
  commission: { cents: number; currency: string } | null
}

/** A page of a list of orders. The list continues after the last order of a page, or at a numbered page. */
interface OrderQuery extends OrderFilter {
  /** The stored id of the last order of the page before. */
  after?: string | undefined
  page?: number
  limit: number
}

export interface FoundOrders {
  data: ReportedOrder[]
  /** Where the list continues; undefined at its end. */
  next: { after: string; at: string } | undefined
  /** How many orders match; undefined when the search did not read that far. */
  total: number | undefined
}

/**
 * Lists reported orders, newest first, including those without a commission. Each search reads a part of a long list, and can
 * find less than a page. Orders that match are counted if all of them were read.
 *
 * @throws ApiError 400 `invalid_parameter` for an unknown `after`.
 */
export const listReported = readerOf(orderList, async (ctx: Context, query: OrderQuery): Promise<FoundOrders> => {
  const { db, shop } = ctx
  const { after, page = 1, ...filter } = query
  if (filter.outcome === NO_AFFILIATE && filter.affiliateId) return { data: [], next: undefined, total: 0 }
  const isSearch = orderList.cost(filter) !== undefined
  const maxRead = isSearch ? MAX_INLINE_ROWS : after === undefined ? MAX_NUMBERED + 1 : query.limit + 1
  const search: OrderSearch = { ...filter, offset: after === undefined ? (page - 1) * query.limit : 0, maxRead }
  if (after !== undefined) {
    const last = await findOrder(db.read, shop.id, after)
    const id = isByCommission(filter) ? last?.commissionId : last?.orderId
    if (!last || !id) throw invalidField('invalid_parameter', 'after', 'must be the id of an order of this list.')
    search.start = { at: last.orderAt, id }
  }
  const { ids, next, total } = await readFrom(ctx, orderList, search)
  return { data: await readOrders(ctx, ids), next, total }
})

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
  return (await readOrders(ctx, [...ids])).slice(0, limit)
}

/** Orders with their commissions by their stored ids, in this order. */
export async function readOrders({ db, shop }: Context, orderIds: string[]): Promise<ReportedOrder[]> {
  const rows = new Map((await findOrdersById(db.read, shop.id, orderIds)).map((row) => [row.orderId, row]))
  const ids = [...rows.values()].flatMap(({ commissionId }) => commissionId ?? [])
  const [owned, refunded] = await Promise.all([
    findCommissionsById(db.read, shop.id, ids),
    listRefundedCents(db.read, shop.id, ids),
  ])
  const commissions = new Map(owned.map((row) => [row.id, row]))
  return orderIds.flatMap((orderId) => {
    const row = rows.get(orderId)
    const own = commissions.get(row?.commissionId ?? '')
    return row ? [toReported(row, own, refunded.get(own?.id ?? ''))] : []
  })
}

const toReported = (row: OrderSummary, own: CommissionRow | undefined, refundedCents = 0): ReportedOrder => ({
  orderId: row.orderId,
  name: own?.orderName || row.orderName || (row.facts ? parseFacts(row.facts).order.externalOrderId : row.orderId),
  orderAt: row.orderAt,
  goodsCents: row.goodsCents,
  refundedCents,
  orderCurrency: row.orderCurrency,
  outcome: own?.orderStatus ?? NO_AFFILIATE,
  affiliateId: own?.affiliateId ?? null,
  commission: own ? { cents: own.commissionAmountCents, currency: own.currency } : null,
})

/** Whose order it was, as reported. */
export async function findVisitor(
  { db, shop }: Context,
  orderId: string,
): Promise<{ customerEmail: string | undefined; sessionId: string | undefined }> {
  const row = await findOrder(db.read, shop.id, orderId)
  const order = row && parseFacts(row.facts).order
  return { customerEmail: order?.customerEmail ?? undefined, sessionId: order?.sessionId ?? undefined }
}

/** The name of an order as the merchant knows it, if its report contained one. */
export const findOrderName = async ({ db, shop }: Context, orderId: string): Promise<string | null> =>
  (await findOrder(db.read, shop.id, orderId))?.orderName ?? null

/** Orders that await approval because they may be duplicates, newest first, with the stored id of the other order. */
export async function listDuplicates(
  { db, shop }: Context,
  limit: number,
): Promise<{ orderId: string; name: string; duplicateOf: string }[]> {
  const rows = await listPossibleDuplicates(db.read, shop.id, limit)
  return rows.map(({ orderId, orderName, facts }) => {
    const { order, duplicateOf = '' } = parseFacts(facts)
    return { orderId, name: orderName || order.externalOrderId, duplicateOf }
  })
}
