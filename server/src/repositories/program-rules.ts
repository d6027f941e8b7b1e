import type { Trx } from '../db/database.ts'
import type { GeoRule, ProductRule } from '../engine/facts.ts'
import { MAX_PREPARED, type ProductLine, productIds } from './connections.ts'
import { prepared, shaped } from './prepared.ts'

interface OfProgram {
  shopId: string
  programId: string
}

interface OfProducts extends OfProgram {
  /** Ids of products and variants. */
  [n: number]: string
}

const ofProducts = (db: Trx, { shopId, programId, ...values }: OfProducts) =>
  db
    .selectFrom('productRules')
    .selectAll()
    .where('shopId', '=', shopId)
    .where('programId', '=', programId)
    .where('kind', 'in', ['product', 'variant'])
    .where('value', 'in', Object.values(values))
    .orderBy('kind')
    .orderBy('value')

const productRules = shaped<OfProducts>()((db, values) => ofProducts(db, values).compile())
const manyProductRules = (db: Trx, values: OfProducts) => ofProducts(db, values).execute()

const geoRule = prepared<OfProgram>()((db, { shopId, programId }) =>
  db.selectFrom('geoRules').selectAll().where('shopId', '=', shopId).where('programId', '=', programId).compile(),
)

/**
 * The rates that a program pays for the products and variants of an order. Its other rules change nothing for the order,
 * and are kept out of the facts that are stored with it.
 */
export async function findProductRules(db: Trx, of: OfProgram, lines: ProductLine[]): Promise<ProductRule[]> {
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
export async function findGeoRules(db: Trx, shopId: string, programId: string): Promise<GeoRule | null> {
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
