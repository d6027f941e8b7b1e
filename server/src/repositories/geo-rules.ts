import type { Trx } from '../db/database.ts'
import type { GeoRuleRow } from '../db/tables.ts'
import { countOf, type PageQuery, pageOf } from './page.ts'

export const listGeoRules = (db: Trx, shopId: string, query: PageQuery) =>
  pageOf(db.selectFrom('geoRules').selectAll().where('shopId', '=', shopId).orderBy('programId'), query)

/** How many programs of a shop have a rule, but for one of them. */
export const countGeoRulesOfOthers = (db: Trx, shopId: string, programId: string): Promise<number> =>
  countOf(db.selectFrom('geoRules').where('shopId', '=', shopId).where('programId', '<>', programId))

/** Sets a program's rule, instead of the one there was. */
export async function upsertGeoRule(trx: Trx, row: GeoRuleRow): Promise<void> {
  const { programId, shopId, ...changes } = row
  await trx
    .insertInto('geoRules')
    .values(row)
    .onConflict((conflict) => conflict.column('programId').doUpdateSet(changes))
    .execute()
}

/** Takes a rule away. Answers whether it was there. */
export async function claimGeoRule(trx: Trx, shopId: string, programId: string): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('geoRules')
    .where('shopId', '=', shopId)
    .where('programId', '=', programId)
    .executeTakeFirst()
  return numDeletedRows === 1n
}
