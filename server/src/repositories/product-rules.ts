import type { Trx } from '../db/database.ts'
import type { ProductRuleRow } from '../db/tables.ts'
import { countOf, type PageQuery, pageOf } from './page.ts'

/** Newest first. */
export function listProductRules(db: Trx, shopId: string, query: PageQuery & { programId?: string }) {
  let list = db.selectFrom('productRules').selectAll().where('shopId', '=', shopId)
  if (query.programId) list = list.where('programId', '=', query.programId)
  return pageOf(list.orderBy('createdAt', 'desc').orderBy('id', 'desc'), query)
}

/** Whether the program has a rule for this product or variant. */
export async function hasProductRule(db: Trx, row: ProductRuleRow): Promise<boolean> {
  const found = await db
    .selectFrom('productRules')
    .select('id')
    .where('shopId', '=', row.shopId)
    .where('programId', '=', row.programId)
    .where('kind', '=', row.kind)
    .where('value', '=', row.value)
    .executeTakeFirst()
  return found !== undefined
}

export const countProductRules = (db: Trx, shopId: string): Promise<number> =>
  countOf(db.selectFrom('productRules').where('shopId', '=', shopId))

export async function insertProductRule(trx: Trx, row: ProductRuleRow): Promise<void> {
  await trx.insertInto('productRules').values(row).execute()
}

/** Takes a rule away. Answers it, as long as it was there. */
export const claimProductRule = (trx: Trx, shopId: string, id: string): Promise<ProductRuleRow | undefined> =>
  trx.deleteFrom('productRules').where('shopId', '=', shopId).where('id', '=', id).returningAll().executeTakeFirst()
