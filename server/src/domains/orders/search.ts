import { defineList } from '../../core/lists.ts'
import { afterCursor, type Cursor } from '../../core/pagination.ts'
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
  const rows = isByCommission(query) ? await readCommissions(db, shopId, query) : await readOrders(db, shopId, query)
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
    (!outcome || outcome === NO_AFFILIATE || row.orderStatus === outcome)
  )
}

async function readCommissions(db: Reader, shopId: string, query: OrderSearch): Promise<Found[]> {
  const { affiliateId, outcome, from, to, start } = query
  let list = db
    .selectFrom('commissions')
    .select(['orderId', 'happenedAt as at', 'orderStatus', 'orderCurrency', 'orderSubtotalCents', 'orderDiscountCents'])
    .where('shopId', '=', shopId)
    .where('trackingMethod', '<>', 'ADJUSTMENT')
  // The index of one condition also sorts, and bounds what is read. The other one is checked afterwards.
  if (affiliateId) list = list.where('affiliateId', '=', affiliateId)
  else if (outcome && outcome !== NO_AFFILIATE) list = list.where('orderStatus', '=', outcome)
  if (from) list = list.where('happenedAt', '>=', from)
  if (to) list = list.where('happenedAt', '<=', to)
  if (start) list = list.where(afterCursor('commissions', start))
  const rows = await list.orderBy('happenedAt', 'desc').orderBy('id', 'desc').limit(query.maxRead).execute()
  return rows.map(({ orderSubtotalCents, orderDiscountCents, ...row }) => ({
    ...row,
    goodsCents: orderSubtotalCents - Math.min(orderDiscountCents, orderSubtotalCents),
  }))
}

async function readOrders(db: Reader, shopId: string, query: OrderSearch): Promise<Found[]> {
  const { outcome, currency, from, to, start } = query
  let list = db.selectFrom('orders').select(['orderId', 'orderAt as at']).where('shopId', '=', shopId)
  if (outcome === NO_AFFILIATE) list = list.where('commissionId', 'is', null)
  if (from) list = list.where('orderAt', '>=', from)
  if (to) list = list.where('orderAt', '<=', to)
  // One row comparison, so that the index seeks to the position even among orders of the same instant.
  if (start) list = list.where((eb) => eb(eb.refTuple('orderAt', 'orderId'), '<', eb.tuple(start.at, start.id)))
  const sorted = list.orderBy('orderAt', 'desc').orderBy('orderId', 'desc').limit(query.maxRead)
  // An index has everything else.
  return currency ? sorted.select(['goodsCents', 'orderCurrency']).execute() : sorted.execute()
}

/** The outcome of an order that was credited to no affiliate. */
export const NO_AFFILIATE = 'NOBODY'

/** The status of the commission of an order, `NOBODY` without one. */
export type Outcome = CommissionRow['orderStatus'] | typeof NO_AFFILIATE

/** The conditions of a list of orders. Instants and amounts are inclusive. */
export interface OrderFilter {
  outcome?: Outcome | undefined
  affiliateId?: string | undefined
  from?: string | undefined
  to?: string | undefined
  /** The currency of the order, which amounts need. */
  currency?: string | undefined
  minGoodsCents?: number | undefined
  maxGoodsCents?: number | undefined
}
