import { invalidField } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Query } from '../../contract/spec.ts'
import type { Context } from '../../core/context.ts'
import { defineReader, MAX_INLINE_ROWS, readFrom } from '../../core/lists.ts'
import { type Page, toPage } from '../../core/pagination.ts'
import { checkPeriod, parseQueryInstant } from '../../core/time.ts'
import { chunks } from '../../database/chunks.ts'
import { forEachInSlices } from '../../database/event-loop.ts'
import type { CommissionRow } from '../../database/tables.ts'
import { CONFIDENCE } from '../../engine/attribution.ts'
import type { Decision, MatchCode } from '../../engine/facts.ts'
import { storedOrderIds } from '../../engine/normalize.ts'
import { parseFacts } from '../../engine/stored-facts.ts'
import { findCommission, findCommissionsById, listRefundedCents } from '../ledger/commissions.ts'
import { listCancellations } from '../ledger/order-notices.ts'
import {
  findDecisions,
  findOrder,
  findOrderIds,
  findOrderIdsByName,
  findOrdersById,
  listPossibleDuplicates,
  type OrderSummary,
} from '../ledger/orders.ts'
import type { CancellationDetails } from './notices.ts'
import {
  CREDITED,
  isByCommission,
  MAX_NUMBERED,
  NO_AFFILIATE,
  numberedOrders,
  type OrderFilter,
  type OrderSearch,
  type Outcome,
  orderList,
} from './search.ts'

type Order = components['schemas']['Order']

/** A reported order on a page. */
export interface ReportedOrder {
  orderId: string
  /** As the merchant knows it. */
  name: string
  orderAt: string
  /** Goods after discount, in the order's currency. */
  goodsCents: number
  /** Refunded goods. 0 without a commission, because refunds are then not applied. */
  refundedCents: number
  orderCurrency: string
  outcome: Outcome
  affiliateId: string | null
  /** The evidence that the affiliate was credited for; null without a commission. */
  evidence: string | null
  /** Why the order earns less or nothing. Null if it is not restricted. */
  restriction: string | null
  /** Current amount, in its own currency. */
  commission: { cents: number; currency: string } | null
}

/** A page of orders. The list continues after a page's last order, or at a numbered page. */
interface OrderQuery extends OrderFilter {
  /** The stored ID of the previous page's last order. */
  after?: string | undefined
  page?: number
  limit: number
}

interface FoundOrders {
  data: ReportedOrder[]
  /** Where the list continues. Undefined at its end. */
  next: { after: string; at: string } | undefined
  /** How many orders match. Undefined if the search did not read that far. */
  total: number | undefined
}

/**
 * Lists reported orders, newest first, including those without a commission. Each search reads part of a long list and
 * may find less than a page. Matching orders are counted if all of them were read.
 *
 * @throws ApiError 400 `invalid_parameter` for an unknown `after`.
 */
export const listReported = defineReader(orderList, async (ctx: Context, query: OrderQuery): Promise<FoundOrders> => {
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

/** Finds reported orders by name or ID, as typed or in capitals, or by their commission's ID. */
export async function findReported(ctx: Context, text: string, limit: number): Promise<ReportedOrder[]> {
  const { db, shop } = ctx
  const spellings = [...new Set([text, text.toUpperCase()])]
  const stored = spellings.map(storedOrderIds).flatMap(({ exact, bySource }) => [...exact, ...bySource])
  const [commission, ...named] = await Promise.all([
    findCommission(db.read, shop.id, text),
    ...spellings.map((spelling) => findOrderIdsByName(db.read, shop.id, spelling)),
  ])
  const ids = new Set([...stored, commission?.orderId, ...named.flat()].filter((id) => id !== undefined))
  return (await readOrders(ctx, [...ids])).slice(0, limit)
}

/** Orders for the dashboard by their stored IDs, in this order. */
export const readOrders = async (ctx: Context, orderIds: string[]): Promise<ReportedOrder[]> =>
  (await readRows(ctx, orderIds)).map(toReported)

/** An order's stored columns. */
interface StoredOrder {
  row: OrderSummary
  commission: CommissionRow | undefined
  refundedCents: number
}

async function readRows({ db, shop }: Context, orderIds: string[]): Promise<StoredOrder[]> {
  const rows = new Map((await findOrdersById(db.read, shop.id, orderIds)).map((row) => [row.orderId, row]))
  const ids = [...rows.values()].flatMap(({ commissionId }) => commissionId ?? [])
  const [owned, refunded] = await Promise.all([
    findCommissionsById(db.read, shop.id, ids),
    listRefundedCents(db.read, shop.id, ids),
  ])
  const commissions = new Map(owned.map((row) => [row.id, row]))
  return orderIds.flatMap((orderId) => {
    const row = rows.get(orderId)
    if (!row) return []
    const id = row.commissionId ?? ''
    return [{ row, commission: commissions.get(id), refundedCents: refunded.get(id) ?? 0 }]
  })
}

const toReported = ({ row, commission: own, refundedCents }: StoredOrder): ReportedOrder => ({
  orderId: row.orderId,
  name: own?.orderName || row.orderName || (row.facts ? parseFacts(row.facts).order.externalOrderId : row.orderId),
  orderAt: row.orderAt,
  goodsCents: row.goodsCents,
  refundedCents,
  orderCurrency: row.orderCurrency,
  outcome: own?.orderStatus ?? NO_AFFILIATE,
  affiliateId: own?.affiliateId ?? null,
  evidence: own?.attributionReasonCode ?? null,
  restriction: own?.restrictionReasonCode ?? null,
  commission: own ? { cents: own.commissionAmountCents, currency: own.currency } : null,
})

/**
 * Lists orders, newest first, with their exact number.
 *
 * @throws ApiError 400 `period_invalid`.
 */
export const list = defineReader(
  numberedOrders,
  async (ctx: Context, query: Query<'listOrders'>): Promise<Page<Order>> => {
    const { externalOrderId, affiliateId, credited, page, limit } = query
    const bounds = checkPeriod(parseQueryInstant('from', query.from), parseQueryInstant('to', query.to))
    if (externalOrderId === undefined) {
      const outcome = credited && ({ true: CREDITED, false: NO_AFFILIATE } as const)[credited]
      const found = await readFrom(ctx, numberedOrders, { ...bounds, affiliateId, outcome, page, limit })
      const data = await toOrders(
        ctx,
        await readRows(
          ctx,
          found.data.map(({ orderId }) => orderId),
        ),
      )
      return { ...found, data }
    }
    const { from, to } = bounds
    const named = await readRows(ctx, await findOrderIds(ctx.db.read, ctx.shop.id, externalOrderId))
    const matching = named.filter(
      ({ row, commission }) =>
        (from === undefined || row.orderAt >= from) &&
        (to === undefined || row.orderAt <= to) &&
        (affiliateId === undefined || commission?.affiliateId === affiliateId) &&
        (credited === undefined || (commission !== undefined) === (credited === 'true')),
    )
    const rows = matching
      .sort((a, b) => (a.row.orderAt < b.row.orderAt ? 1 : -1))
      .slice((page - 1) * limit, page * limit)
    return toPage(await toOrders(ctx, rows), { page, limit }, matching.length)
  },
)

/** How many orders' facts are read at once. Each order can have a thousand lines. */
const DECISIONS_AT_ONCE = 25

async function toOrders({ db, shop }: Context, stored: StoredOrder[]): Promise<Order[]> {
  const idsOf = (rows: StoredOrder[]) => rows.map(({ row }) => row.orderId)
  const notices = await listCancellations(db.read, shop.id, idsOf(stored))
  const cancellations = new Map(notices.map((notice) => [notice.orderId, notice]))
  const uncredited = idsOf(stored.filter(({ commission }) => !commission))
  const reports = new Map<string, Reported>()
  for (const some of chunks(uncredited, DECISIONS_AT_ONCE)) {
    const rows = await findDecisions(db.read, shop.id, some)
    await forEachInSlices(db.read, rows, async ({ orderId, facts, decision }) => {
      const { order } = parseFacts(facts)
      const { subtotalCents, attribution }: Decision = JSON.parse(decision)
      reports.set(orderId, {
        externalOrderId: order.externalOrderId,
        orderSubtotalCents: subtotalCents,
        orderDiscountCents: order.discountCents,
        orderShippingCents: order.shippingCents,
        orderTaxCents: order.taxCents,
        attribution,
      })
    })
  }
  return stored.map(({ row, commission, refundedCents }) => {
    const canceled = cancellations.get(row.orderId)
    const { occurredAt = null }: CancellationDetails = canceled ? JSON.parse(canceled.body) : {}
    return {
      orderId: row.orderId,
      orderName: row.orderName,
      orderCurrency: row.orderCurrency,
      ...(commission ? creditedOf(commission) : reports.get(row.orderId)!),
      commissionId: row.commissionId,
      restrictionReasonCode: commission?.restrictionReasonCode ?? null,
      refundedCents,
      canceledAt: occurredAt ?? canceled?.createdAt ?? null,
      happenedAt: row.orderAt,
      createdAt: row.createdAt,
    }
  })
}

/** An order's data from its commission, or from its facts and decision. */
type Reported = Pick<Order, 'externalOrderId' | 'attribution' | AmountField>
type AmountField = 'orderSubtotalCents' | 'orderDiscountCents' | 'orderShippingCents' | 'orderTaxCents'

function creditedOf(row: CommissionRow): Reported {
  const { affiliateId, attributionMethod: method, attributionReasonCode: reasonCode } = row
  const { orderSubtotalCents, orderDiscountCents, orderShippingCents, orderTaxCents } = row
  return {
    externalOrderId: row.externalOrderId!,
    orderSubtotalCents,
    orderDiscountCents,
    orderShippingCents,
    orderTaxCents,
    attribution: { affiliateId, method, confidence: CONFIDENCE[reasonCode as MatchCode], reasonCode: reasonCode! },
  }
}

/** The customer, as reported. */
export async function findVisitor(
  { db, shop }: Context,
  orderId: string,
): Promise<{ customerEmail: string | undefined; sessionId: string | undefined }> {
  const row = await findOrder(db.read, shop.id, orderId)
  const order = row && parseFacts(row.facts).order
  return { customerEmail: order?.customerEmail ?? undefined, sessionId: order?.sessionId ?? undefined }
}

/** The order's name as the merchant knows it, if it was reported. */
export const findOrderName = async ({ db, shop }: Context, orderId: string): Promise<string | null> =>
  (await findOrder(db.read, shop.id, orderId))?.orderName ?? null

/** Orders awaiting approval because they may be duplicates, newest first, with the other order's stored ID. */
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
