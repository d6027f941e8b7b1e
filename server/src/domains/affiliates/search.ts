import type { Context } from '../../core/context.ts'
import type { AffiliateRow } from '../../database/tables.ts'
import { codeKey } from '../../engine/affiliate-codes.ts'
import { list } from './affiliates.ts'
import { findNameHolders } from './name-queries.ts'
import { findAffiliatesById } from './queries.ts'

/** An affiliate in a choice of several. */
export interface FoundAffiliate {
  id: string
  name: string
}

/** The affiliate with a discount code or an alias, in any spelling that customers may use. */
export async function findByCode({ db, shop }: Context, code: string): Promise<FoundAffiliate | undefined> {
  const holders = await findNameHolders(db.read, shop.id, codeKey(code))
  const holder = holders.find(({ name }) => name !== 'SLUG')
  return holder && (await findAffiliatesById(db.read, shop.id, [holder.affiliateId]))[0]
}

/** The affiliates that are not archived with an id, or with a discount code, link name or alias in any spelling. */
export async function findExactly({ db, shop }: Context, text: string): Promise<AffiliateRow[]> {
  const holders = await findNameHolders(db.read, shop.id, codeKey(text))
  const ids = new Set([text, ...holders.map(({ affiliateId }) => affiliateId)])
  return (await findAffiliatesById(db.read, shop.id, [...ids])).filter(({ deletedAt }) => deletedAt === null)
}

/** The affiliates that a typed text can mean: by exact id or code, then by a part of the name, email or code. */
export async function findByText(ctx: Context, text: string, limit: number): Promise<FoundAffiliate[]> {
  const isId = text.startsWith('aff_')
  const exact = isId ? (await findAffiliatesById(ctx.db.read, ctx.shop.id, [text]))[0] : await findByCode(ctx, text)
  return exact ? [exact] : (await list(ctx, { q: text, hasCodes: true, page: 1, limit })).data
}
