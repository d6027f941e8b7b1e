import { sql } from 'kysely'
import { isOneOf } from '../../core/queries.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { prepared, preparedByShape } from '../../database/prepared.ts'
import { findRow, insertRow, updateRows } from '../../database/rows.ts'
import type { CommissionRow, OrderRow } from '../../database/tables.ts'
import type { Order } from '../../engine/facts.ts'
import { idsInOtherSources, ORDER_SOURCES, orderKey, orderSpellings, storedOrderIds } from '../../engine/normalize.ts'

/** A reported order by its stored ID, such as `api:1001`. */
export const findOrder = (db: Reader, shopId: string, orderId: string): Promise<OrderRow | undefined> =>
  findRow(db, 'orders', { shopId, orderId })

/** More rows than a name of one order has; a shop may give every order the same name. */
const MAX_SAME = 20

const SAME = ['orderId', 'orderStatus', 'happenedAt'] as const

const sameOrders = preparedByShape<Record<string, string>>()((db, values) => {
  const listOf = (kind: string) => Object.keys(values).flatMap((key) => (key.startsWith(kind) ? values[key]! : []))
  const rows = db.selectFrom('commissions').select(SAME).where('shopId', '=', values.shopId!)
  // The order of the index, which PostgreSQL then uses whatever it expects of the names.
  const named = rows
    .where('orderName', 'in', listOf('name'))
    .orderBy('orderName', 'desc')
    .orderBy('id', 'desc')
    .limit(sql.lit(MAX_SAME))
  return rows
    .where('orderId', 'in', listOf('id'))
    .unionAll(db.selectFrom(named.as('named')).select(SAME))
    .compile()
})

/** The sources of a shop's credited orders; most shops have one. SQLite reads every order of a source for an `exists`. */
const sourcesOf = prepared<{ shopId: string }>()((db, { shopId }) =>
  sql<{ column1: string }>`
    select column1 from (values ${sql.join(ORDER_SOURCES.map((source) => sql`(${sql.lit(source)})`))}) as sources
    where (select 1 from commissions
      where "shopId" = ${shopId} and "orderId" >= column1 || ':' and "orderId" < column1 || ';' limit 1) = 1`.compile(
    db,
  ),
)

const DUPLICATE_WINDOW_MS = 30 * 86_400_000

/** An order with what identifies it. */
export interface IdentifiedOrder {
  order: Order
  orderId: string
  orderName: string | null
}

/**
 * The stored id of a credited order of another source that has the same id or name, and is at most 30 days apart.
 *
 * @param except the statuses of orders that do not count
 */
export async function findDuplicateOf(
  db: Reader,
  shopId: string,
  { order, orderId, orderName }: IdentifiedOrder,
  except: CommissionRow['orderStatus'][] = [],
): Promise<string | undefined> {
  const sources = await sourcesOf(db, { shopId })
  if (sources.every(({ column1 }) => orderId.startsWith(`${column1}:`))) return undefined
  const names = orderSpellings(order.externalOrderId, orderName)
  const ids = names.flatMap((name) => idsInOtherSources(orderId, name))
  const numbered = (kind: string, list: string[]) => list.map((text, n) => [`${kind}${n}`, text])
  const duplicate = await sameOrders(
    db,
    Object.fromEntries([['shopId', shopId], ...numbered('id', ids), ...numbered('name', names)]),
  )
  const isNear = (at: string) => Math.abs(Date.parse(at) - Date.parse(order.orderAt)) <= DUPLICATE_WINDOW_MS
  const source = orderId.slice(0, orderId.indexOf(':') + 1)
  const others = duplicate.filter(
    (row) => !row.orderId.startsWith(source) && isNear(row.happenedAt) && !except.includes(row.orderStatus),
  )
  return others.map((row) => row.orderId).sort()[0]
}

/** The newest orders that await approval because they may be duplicates. */
export const listPossibleDuplicates = (db: Reader, shopId: string, limit: number) =>
  db
    .selectFrom('commissions')
    .innerJoin('orders', (join) =>
      join.onRef('orders.shopId', '=', 'commissions.shopId').onRef('orders.orderId', '=', 'commissions.orderId'),
    )
    .select(['orders.orderId', 'orders.orderName', 'orders.facts'])
    .where('commissions.shopId', '=', shopId)
    // As literals, which match the partial index.
    .where('commissions.orderStatus', '=', sql.lit('PENDING'))
    .where('commissions.restrictionReasonCode', '=', sql.lit('POSSIBLE_DUPLICATE'))
    .orderBy('commissions.happenedAt', 'desc')
    .orderBy('commissions.id', 'desc')
    .limit(limit)
    .execute()

const amountsOf = ({ amountCents, lines, discountCents, shippingCents, taxCents, currency }: Order): string => {
  const ofLines = () => lines.reduce((sum, { priceCents, quantity }) => sum + (priceCents ?? 0) * quantity, 0)
  return `${amountCents ?? ofLines()} ${discountCents} ${shippingCents} ${taxCents} ${currency}`
}

/** Whether a report has the amounts and the currency that the order was recorded with. */
export function hasSameAmounts({ facts }: OrderRow, reported: Order): boolean {
  const { order }: { order?: Order } = JSON.parse(facts)
  // An empty list is not stored.
  return !order || amountsOf({ ...order, lines: order.lines ?? [] }) === amountsOf(reported)
}

/** Stores an order that was not reported before, with its facts and decision. */
export const insertOrder = (trx: Transaction, shopId: string, row: Omit<OrderRow, 'shopId'>): Promise<void> =>
  insertRow(trx, 'orders', { shopId, ...row })

/** Replaces what was stored of a reported order. */
export async function updateOrder(
  trx: Transaction,
  shopId: string,
  { orderId, createdAt: _, ...changes }: Omit<OrderRow, 'shopId'>,
): Promise<void> {
  await updateRows(trx, 'orders', { shopId, orderId }, changes)
}

export interface OrderRange {
  /** Instants, both inclusive, of `orderAt`. */
  from?: string
  to?: string
  /** The last order of the previous page. */
  after?: Pick<OrderRow, 'orderAt' | 'orderId'>
}

/** Reported orders, newest first. */
export function readOrdersForBacktest(
  db: Reader,
  shopId: string,
  filter: OrderRange,
  limit: number,
): Promise<OrderRow[]> {
  const { from, to, after } = filter
  let list = db.selectFrom('orders').selectAll().where('shopId', '=', shopId)
  if (from) list = list.where('orderAt', '>=', from)
  if (to) list = list.where('orderAt', '<=', to)
  // One row comparison, so that the index seeks to the position even among orders of the same instant.
  if (after)
    list = list.where((eb) => eb(eb.refTuple('orderAt', 'orderId'), '<', eb.tuple(after.orderAt, after.orderId)))
  return list.orderBy('orderAt', 'desc').orderBy('orderId', 'desc').limit(limit).execute()
}

/** At most this many rows with one name are read. */
const MAX_NAMED = 25

/** Stored IDs of orders with a name, which stores write with `#`. Credited orders come first. */
export async function findOrderIdsByName(db: Reader, shopId: string, text: string): Promise<string[]> {
  const name = orderKey(text)
  const names = [name, `#${name}`]
  const commissions = db.selectFrom('commissions').select('orderId').where('shopId', '=', shopId)
  const orders = db.selectFrom('orders').select('orderId').where('shopId', '=', shopId)
  const credited = commissions.where('orderName', 'in', names).where('trackingMethod', '<>', 'ADJUSTMENT')
  const uncredited = orders.where('orderName', 'in', names).where('commissionId', 'is', null)
  const rows = await Promise.all([
    credited.orderBy('orderName').orderBy('id').limit(MAX_NAMED).execute(),
    uncredited.orderBy('orderName').orderBy('orderId').limit(MAX_NAMED).execute(),
  ])
  return rows.flat().map(({ orderId }) => orderId)
}

/**
 * The stored ids of the orders that a text names: the stored id, which takes precedence, the caller's own id in each source, or
 * the name in the store.
 */
export async function findOrderIds(db: Reader, shopId: string, text: string): Promise<string[]> {
  const { exact, bySource } = storedOrderIds(text)
  const rows = await db
    .selectFrom('orders')
    .select('orderId')
    .where('shopId', '=', shopId)
    .where(isOneOf(db, 'orderId', [...exact, ...bySource]))
    .execute()
  const reported = (ids: string[]) => ids.filter((id) => rows.some(({ orderId }) => orderId === id))
  const [stored] = reported(exact)
  if (stored !== undefined) return [stored]
  const own = reported(bySource)
  return own.length > 0 ? own : findOrderIdsByName(db, shopId, text)
}

/** What lists show of an order. Its facts, which are long, are read only for the name of an order without one. */
export type OrderSummary = Omit<OrderRow, 'facts' | 'decision' | 'shopId' | 'updatedAt'> & {
  facts: string | null
}

/** Up to a page of orders by their stored ids. */
export const findOrdersById = (db: Reader, shopId: string, orderIds: string[]): Promise<OrderSummary[]> =>
  db
    .selectFrom('orders')
    .select(['orderId', 'commissionId', 'orderAt', 'orderName', 'goodsCents', 'orderCurrency', 'createdAt'])
    .select(sql<string | null>`case when coalesce("orderName", '') = '' then facts end`.as('facts'))
    .where('shopId', '=', shopId)
    .where(isOneOf(db, 'orderId', orderIds))
    .execute()

/** What up to a page of orders without a commission were reported and decided with. Both are long. */
export const findDecisions = (
  db: Reader,
  shopId: string,
  orderIds: string[],
): Promise<Pick<OrderRow, 'orderId' | 'facts' | 'decision'>[]> =>
  db
    .selectFrom('orders')
    .select(['orderId', 'facts', 'decision'])
    .where('shopId', '=', shopId)
    .where(isOneOf(db, 'orderId', orderIds))
    .execute()

/** Whether a shop has more orders than this. Reads that many index entries. */
export async function hasMoreOrders(db: Reader, shopId: string, rows: number): Promise<boolean> {
  const orders = db.selectFrom('orders').select('orderId').where('shopId', '=', shopId)
  const newestFirst = orders.orderBy('orderAt', 'desc').orderBy('orderId', 'desc')
  return (await newestFirst.limit(1).offset(rows).executeTakeFirst()) !== undefined
}
