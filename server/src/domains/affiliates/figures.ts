import type { components } from '../../contract/schema.d.ts'
import type { Query } from '../../contract/spec.ts'
import type { Context } from '../../core/context.ts'
import { readFrom } from '../../core/lists.ts'
import { type PageFilter, toAffiliate } from './affiliates.ts'
import { type AffiliateFigures, type CurrencySums, findFigures, findProgramFigures } from './figure-queries.ts'
import { type AffiliateSort, findAffiliatesById, sortedAffiliateIds } from './queries.ts'

type Affiliate = components['schemas']['Affiliate']

export type { AffiliateFigures, AffiliateSort, CurrencySums }

/** Figures for an affiliate without clicks and orders. */
export const NO_FIGURES: AffiliateFigures = { clicks: 0, orders: 0, sums: [] }

/** Traffic and earnings of affiliates, by ID. */
export const figuresOf = (ctx: Context, ids: string[]): Promise<Map<string, AffiliateFigures>> =>
  findFigures(ctx.db.read, ctx.shop.id, ids)

/** Orders and earnings of programs, by ID. */
export const programFiguresOf = (ctx: Context, ids: string[]): Promise<Map<string, AffiliateFigures>> =>
  findProgramFigures(ctx.db.read, ctx.shop.id, ids)

/** A currency's totals, or zeros. */
export const sumsIn = ({ sums }: AffiliateFigures, currency: string): CurrencySums =>
  sums.find((sum) => sum.currency === currency) ?? { currency, revenueCents: 0n, commissionCents: 0n, paidCents: 0n }

/** The other currencies' totals, by name. */
export const othersOf = ({ sums }: AffiliateFigures, currency: string): CurrencySums[] =>
  sums.filter((sum) => sum.currency !== currency).sort((a, b) => (a.currency < b.currency ? -1 : 1))

/** The IDs of all matching affiliates, sorted. */
export const listSortedIds = (
  ctx: Context,
  query: Pick<Query<'listAffiliates'>, 'id' | 'status' | 'campaignId' | 'q'> & PageFilter & { sort: AffiliateSort },
): Promise<string[]> => readFrom(ctx, sortedAffiliateIds, query)

/** Affiliates in the order of these IDs. Skips affiliates archived since the IDs were read. */
export async function listByIds(ctx: Context, ids: string[], isArchived = false): Promise<Affiliate[]> {
  const rows = new Map((await findAffiliatesById(ctx.db.read, ctx.shop.id, ids)).map((row) => [row.id, row]))
  return ids
    .flatMap((id) => rows.get(id) ?? [])
    .flatMap((row) => (isArchived || row.deletedAt === null ? [toAffiliate(row)] : []))
}
