import type { Trx } from '../db/database.ts'
import type { GeoRule, ProductRule } from '../engine/facts.ts'
import { prepared } from './prepared.ts'

interface OfProgram {
  shopId: string
  programId: string
}

const productRules = prepared<OfProgram>()((db, { shopId, programId }) =>
  db
    .selectFrom('productRules')
    .selectAll()
    .where('shopId', '=', shopId)
    .where('programId', '=', programId)
    .orderBy('kind')
    .orderBy('value')
    .compile(),
)

const geoRule = prepared<OfProgram>()((db, { shopId, programId }) =>
  db.selectFrom('geoRules').selectAll().where('shopId', '=', shopId).where('programId', '=', programId).compile(),
)

/** The rates that a program pays for single products or variants. */
export async function findProductRules(db: Trx, shopId: string, programId: string): Promise<ProductRule[]> {
  const rows = await productRules(db, { shopId, programId })
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
