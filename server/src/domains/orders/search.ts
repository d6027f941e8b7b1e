import { defineList, MAX_INLINE_ROWS } from '../../core/lists.ts'
import { afterCursor, type Cursor, type Page, type PageQuery, pageOf, toPage } from '../../core/pagination.ts'
import type { Reader } from '../../database/database.ts'
import type { CommissionRow } from '../../database/tables.ts'
import { hasMoreOrders } from '../ledger/orders.ts'

/** A part of a list of orders. */
export interface OrderSearch extends OrderFilter {
  /** The list continues after this order, or its commission if those are searched. */
  start?: Cursor
  limit: number
  /** Matching orders before the page, from the start of the list. */
  offset: number
  /** How many rows are read at most. */
  maxRead: number
}

interface FoundIds {
  ids: string[]
  next: { after: string; at: string } | undefined
  total: number | undefined
}

/** What the rows of both tables have. */
interface Found {
  orderId: string
  at: string
  goodsCents?: number
  orderCurrency?: string
  orderStatus?: CommissionRow['orderStatus']
}

/** Orders with a commission are found by it: its indexes have its status and its affiliate. */
export const isByCommission = ({ outcome, affiliateId }: OrderFilter): boolean =>
  affiliateId !== undefined || (outcome !== undefined && outcome !== NO_AFFILIATE)

/** The stored ids of a page of orders, where the list continues, and how many match if all were read. */
async function searchOrders(db: Reader, shopId: string, query: OrderSearch): Promise<FoundIds> {
  const { limit, offset, maxRead, start } = query
  const rows = isByCommission(query) ? await readCommissions(db, shopId, query) : await scanOrders(db, shopId, query)
  const matching = rows.filter((row) => matches(row, query))
  const isWhole = rows.length < maxRead
  // Only a list that is read to its end has numbered pages.
  const from = isWhole ? offset : 0
  const page = matching.slice(from, from + limit)
  // Orders that were read and do not match are not read again.
  const last = matching.length > from + limit ? page.at(-1) : isWhole ? undefined : rows.at(-1)
  return {
    ids: page.map(({ orderId }) => orderId),
    next: last && { after: last.orderId, at: last.at },
    total: start || !isWhole ? undefined : matching.length,
  }
}

/** A list of up to this many orders is read to its end, and has numbered pages. */
export const MAX_NUMBERED = 1000

/** Many orders are read to find those that match: no index has their amounts, nor an affiliate with an outcome. */
export const orderList = defineList(import.meta.url, 'orderList', {
  read: searchOrders,
  cost: ({ outcome, affiliateId, currency }: OrderFilter) =>
    currency !== undefined || (affiliateId !== undefined && outcome !== undefined)
      ? (db, shopId) => hasMoreOrders(db, shopId, MAX_NUMBERED)
      : undefined,
})

function matches(row: Found, { outcome, currency, minGoodsCents, maxGoodsCents }: OrderSearch): boolean {
  const { goodsCents = 0 } = row
  return (
    (!currency || row.orderCurrency === currency) &&
    (minGoodsCents === undefined || goodsCents >= minGoodsCents) &&
    (maxGoodsCents === undefined || goodsCents <= maxGoodsCents) &&
    (!outcome || outcome === NO_AFFILIATE || outcome === CREDITED || row.orderStatus === outcome)
  )
}

/** The commissions of credited orders, newest first. */
function commissionsOf(db: Reader, shopId: string, { affiliateId, outcome, from, to, start }: OrderRange) {
  let list = db.selectFrom('commissions').where('shopId', '=', shopId).where('trackingMethod', '<>', 'ADJUSTMENT')
  // The index of one condition also sorts, and bounds what is read. The other one is checked afterwards.
  if (affiliateId) list = list.where('affiliateId', '=', affiliateId)
  else if (outcome && outcome !== CREDITED && outcome !== NO_AFFILIATE) list = list.where('orderStatus', '=', outcome)
  if (from) list = list.where('happenedAt', '>=', from)
  if (to) list = list.where('happenedAt', '<=', to)
  if (start) list = list.where(afterCursor('commissions', start))
  return list.orderBy('happenedAt', 'desc').orderBy('id', 'desc')
}

async function readCommissions(db: Reader, shopId: string, query: OrderSearch): Promise<Found[]> {
  const rows = await commissionsOf(db, shopId, query)
    .select(['orderId', 'happenedAt as at', 'orderStatus', 'orderCurrency', 'orderSubtotalCents', 'orderDiscountCents'])
    .limit(query.maxRead)
    .execute()
  return rows.map(({ orderSubtotalCents, orderDiscountCents, ...row }) => ({
    ...row,
    goodsCents: orderSubtotalCents - Math.min(orderDiscountCents, orderSubtotalCents),
  }))
}

/** All reported orders, or those without a commission, newest first. */
function ordersOf(db: Reader, shopId: string, { outcome, from, to, start }: OrderRange) {
  let list = db.selectFrom('orders').where('shopId', '=', shopId)
  if (outcome === NO_AFFILIATE) list = list.where('commissionId', 'is', null)
  if (from) list = list.where('orderAt', '>=', from)
  if (to) list = list.where('orderAt', '<=', to)
  // One row comparison, so that the index seeks to the position even among orders of the same instant.
  if (start) list = list.where((eb) => eb(eb.refTuple('orderAt', 'orderId'), '<', eb.tuple(start.at, start.id)))
  return list.orderBy('orderAt', 'desc').orderBy('orderId', 'desc')
}

async function scanOrders(db: Reader, shopId: string, query: OrderSearch): Promise<Found[]> {
  const list = ordersOf(db, shopId, query).select(['orderId', 'orderAt as at']).limit(query.maxRead)
  // An index has everything else.
  return query.currency ? list.select(['goodsCents', 'orderCurrency']).execute() : list.execute()
}

type OrderRange = OrderFilter & { start?: Cursor }

/** The stored ids of a numbered page of orders, with the exact number of orders. */
async function readPage(
  db: Reader,
  shopId: string,
  query: OrderFilter & PageQuery,
): Promise<Page<{ orderId: string }>> {
  if (query.affiliateId && query.outcome === NO_AFFILIATE) return toPage([], query, 0)
  return isByCommission(query)
    ? pageOf(commissionsOf(db, shopId, query).select('orderId'), query)
    : pageOf(ordersOf(db, shopId, query).select('orderId'), query)
}

/** Orders are counted by each page. */
export const numberedOrders = defineList(import.meta.url, 'numberedOrders', {
  read: readPage,
  cost: () => (db: Reader, shopId: string) => hasMoreOrders(db, shopId, MAX_INLINE_ROWS),
})

/** The outcome of an order that was credited to no affiliate. */
export const NO_AFFILIATE = 'NOBODY'
/** The outcome of an order with a commission of any status. */
export const CREDITED = 'CREDITED'

/** The status of the commission of an order, `NOBODY` without one. */
export type Outcome = CommissionRow['orderStatus'] | typeof NO_AFFILIATE

/** The conditions of a list of orders. Instants and amounts are inclusive. */
export interface OrderFilter {
  outcome?: Outcome | typeof CREDITED | undefined
  affiliateId?: string | undefined
  from?: string | undefined
  to?: string | undefined
  /** The currency of the order, which amounts need. */
  currency?: string | undefined
  minGoodsCents?: number | undefined
  maxGoodsCents?: number | undefined
}
