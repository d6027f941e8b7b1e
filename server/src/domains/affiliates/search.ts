import type { Context } from '../../core/context.ts'
import type { AffiliateRow } from '../../database/tables.ts'
import { codeKey } from '../../engine/affiliate-codes.ts'
import { list } from './affiliates.ts'
import { findNameHolders } from './name-queries.ts'
import { findAffiliatesById } from './queries.ts'

/** An affiliate to choose from. */
export interface FoundAffiliate {
  id: string
  name: string
}

/** The affiliate with a discount code or an alias, in any spelling a customer may use. */
export async function findByCode({ db, shop }: Context, code: string): Promise<FoundAffiliate | undefined> {
  const holders = await findNameHolders(db.read, shop.id, codeKey(code))
  const holder = holders.find(({ name }) => name !== 'SLUG')
  return holder && (await findAffiliatesById(db.read, shop.id, [holder.affiliateId]))[0]
}

/** Affiliates, not archived, with this ID, or with this discount code, link name, or alias in any spelling. */
export async function findExactly({ db, shop }: Context, text: string): Promise<AffiliateRow[]> {
  const holders = await findNameHolders(db.read, shop.id, codeKey(text))
  const ids = new Set([text, ...holders.map(({ affiliateId }) => affiliateId)])
  return (await findAffiliatesById(db.read, shop.id, [...ids])).filter(({ deletedAt }) => deletedAt === null)
}

/** Affiliates that match a typed text: by exact ID or code, then by part of the name, email address, or code. */
export async function findByText(ctx: Context, text: string, limit: number): Promise<FoundAffiliate[]> {
  const isId = text.startsWith('aff_')
  const exact = isId ? (await findAffiliatesById(ctx.db.read, ctx.shop.id, [text]))[0] : await findByCode(ctx, text)
  return exact ? [exact] : (await list(ctx, { q: text, hasCodes: true, page: 1, limit })).data
}
