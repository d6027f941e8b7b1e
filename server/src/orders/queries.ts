import { MAX_PREPARED, type ProductLine, productIds } from '../affiliates/connection-queries.ts'
import type { Reader, Transaction } from '../database/access.ts'
import { prepared, preparedByShape, preparedWrite } from '../database/prepared.ts'
import type { OrderRow } from '../database/tables.ts'
import type { GeoRule, ProductRule } from '../engine/facts.ts'

const orderById = prepared<{ shopId: string; orderId: string }>()((db, { shopId, orderId }) =>
  db.selectFrom('orders').selectAll().where('shopId', '=', shopId).where('orderId', '=', orderId).compile(),
)

/** A reported order by its stored id, such as `api:1001`. */
export const findOrder = async (db: Reader, shopId: string, orderId: string): Promise<OrderRow | undefined> =>
  (await orderById(db, { shopId, orderId }))[0]

const upsert = preparedWrite<OrderRow>()((trx, row) => {
  const { shopId, orderId, commissionId, orderAt, facts, decision, createdAt, updatedAt } = row
  const changes = { commissionId, orderAt, facts, decision, updatedAt }
  return trx
    .insertInto('orders')
    .values({ shopId, orderId, createdAt, ...changes })
    .onConflict((conflict) => conflict.columns(['shopId', 'orderId']).doUpdateSet(changes))
    .compile()
})

/** Keeps the facts and the decision of an order; those of an order that was not credited are replaced. */
export async function upsertOrder(trx: Transaction, shopId: string, row: Omit<OrderRow, 'shopId'>): Promise<void> {
  await upsert(trx, { shopId, ...row })
}

export interface OrderFilter {
  /** Instants, both inclusive, of `orderAt`. */
  from?: string
  to?: string
  /** The last order of the page before. */
  after?: Pick<OrderRow, 'orderAt' | 'orderId'>
}

/** Reported orders, newest first. */
export function listOrders(db: Reader, shopId: string, filter: OrderFilter, limit: number): Promise<OrderRow[]> {
  const { from, to, after } = filter
  let list = db.selectFrom('orders').selectAll().where('shopId', '=', shopId)
  if (from) list = list.where('orderAt', '>=', from)
  if (to) list = list.where('orderAt', '<=', to)
  if (after) {
    // The first condition alone finds the place in the index; the second drops the few that were there before.
    list = list
      .where('orderAt', '<=', after.orderAt)
      .where((eb) => eb.or([eb('orderAt', '<', after.orderAt), eb('orderId', '<', after.orderId)]))
  }
  return list.orderBy('orderAt', 'desc').orderBy('orderId', 'desc').limit(limit).execute()
}

interface OfProgram {
  shopId: string
  programId: string
}

interface OfProducts extends OfProgram {
  /** Ids of products and variants. */
  [n: number]: string
}

const ofProducts = (db: Reader, { shopId, programId, ...values }: OfProducts) =>
  db
    .selectFrom('productRules')
    .selectAll()
    .where('shopId', '=', shopId)
    .where('programId', '=', programId)
    .where('kind', 'in', ['product', 'variant'])
    .where('value', 'in', Object.values(values))
    .orderBy('kind')
    .orderBy('value')

const productRules = preparedByShape<OfProducts>()((db, values) => ofProducts(db, values).compile())
const manyProductRules = (db: Reader, values: OfProducts) => ofProducts(db, values).execute()

const geoRule = prepared<OfProgram>()((db, { shopId, programId }) =>
  db.selectFrom('geoRules').selectAll().where('shopId', '=', shopId).where('programId', '=', programId).compile(),
)

/**
 * The rates that a program pays for the products and variants of an order. Its other rules change nothing for the order,
 * and are kept out of the facts that are stored with it.
 */
export async function findProductRules(db: Reader, of: OfProgram, lines: ProductLine[]): Promise<ProductRule[]> {
  const values = productIds(lines)
  if (values.length === 0) return []
  const rows = await (values.length > MAX_PREPARED ? manyProductRules : productRules)(db, { ...of, ...values })
  return rows.map(({ kind, value, commissionType, rate }) => ({
    productId: kind === 'product' ? value : null,
    variantId: kind === 'variant' ? value : null,
    commissionType,
    rate,
  }))
}

/** Where orders of a program must go, or null when it may be anywhere. */
export async function findGeoRules(db: Reader, shopId: string, programId: string): Promise<GeoRule | null> {
  const [row] = await geoRule(db, { shopId, programId })
  if (!row) return null
  const { countries, states, cities, postalPrefixes } = row
  return {
    countries: JSON.parse(countries),
    states: JSON.parse(states),
    cities: JSON.parse(cities),
    postalPrefixes: JSON.parse(postalPrefixes),
  }
}
