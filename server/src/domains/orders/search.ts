import { defineList, MAX_INLINE_ROWS } from '../../core/lists.ts'
import { afterCursor, type Cursor, type Page, type PageQuery, pageOf, toPage } from '../../core/pagination.ts'
import type { Reader } from '../../database/database.ts'
import type { CommissionRow } from '../../database/tables.ts'
import { hasMoreOrders } from '../ledger/orders.ts'

/** Part of a list of orders. */
export interface OrderSearch extends OrderFilter {
  /** The list continues after this order, or after its commission if commissions are searched. */
  start?: Cursor
  limit: number
  /** How many matching orders precede the page. */
  offset: number
  /** The maximum number of rows to read. */
  maxRead: number
}

interface FoundIds {
  ids: string[]
  next: { after: string; at: string } | undefined
  total: number | undefined
}

/** The columns that both tables have. */
interface Found {
  orderId: string
  at: string
  goodsCents?: number
  orderCurrency?: string
  orderStatus?: CommissionRow['orderStatus']
}

/** Orders with a commission are found through it, because its indexes cover status and affiliate. */
export const isByCommission = ({ outcome, affiliateId }: OrderFilter): boolean =>
  affiliateId !== undefined || (outcome !== undefined && outcome !== NO_AFFILIATE)

/** A page's stored order IDs, where the list continues, and how many match if all were read. */
async function searchOrders(db: Reader, shopId: string, query: OrderSearch): Promise<FoundIds> {
  const { limit, offset, maxRead, start } = query
  const rows = isByCommission(query) ? await readCommissions(db, shopId, query) : await scanOrders(db, shopId, query)
  const matching = rows.filter((row) => matches(row, query))
  const isWhole = rows.length < maxRead
  // Only a list that is read to its end has numbered pages.
  const from = isWhole ? offset : 0
  const page = matching.slice(from, from + limit)
  // Orders that were read and did not match are not read again.
  const last = matching.length > from + limit ? page.at(-1) : isWhole ? undefined : rows.at(-1)
  return {
    ids: page.map(({ orderId }) => orderId),
    next: last && { after: last.orderId, at: last.at },
    total: start || !isWhole ? undefined : matching.length,
  }
}

/** A list of up to this many orders is read to its end and has numbered pages. */
export const MAX_NUMBERED = 1000

/** Whether many orders must be read to find matches: no index covers amounts, or an affiliate with an outcome. */
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
  // One condition's index also sorts and limits the rows read. The other one is checked afterwards.
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
  // An index covers everything else.
  return query.currency ? list.select(['goodsCents', 'orderCurrency']).execute() : list.execute()
}

type OrderRange = OrderFilter & { start?: Cursor }

/** A numbered page's stored order IDs, with the exact number of orders. */
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

/** Each page counts the orders. */
export const numberedOrders = defineList(import.meta.url, 'numberedOrders', {
  read: readPage,
  cost: () => (db: Reader, shopId: string) => hasMoreOrders(db, shopId, MAX_INLINE_ROWS),
})

/** The outcome of an order that credited no affiliate. */
export const NO_AFFILIATE = 'NOBODY'
/** The outcome of an order with a commission in any status. */
export const CREDITED = 'CREDITED'

/** The status of the order's commission, or `NOBODY` without one. */
export type Outcome = CommissionRow['orderStatus'] | typeof NO_AFFILIATE

/** A list's conditions. Instants and amounts are inclusive. */
export interface OrderFilter {
  outcome?: Outcome | typeof CREDITED | undefined
  affiliateId?: string | undefined
  from?: string | undefined
  to?: string | undefined
  /** The order's currency. Required for amounts. */
  currency?: string | undefined
  minGoodsCents?: number | undefined
  maxGoodsCents?: number | undefined
}
