import type { Context } from '../context.ts'
import * as sums from '../engine/analytics.ts'
import type { components } from '../http/schema.d.ts'
import type { Query } from '../http/spec.ts'
import { findAffiliatesById } from '../repositories/affiliates.ts'
import * as rows from '../repositories/analytics.ts'
import { lastDays } from './instant.ts'

const DAYS = 30
const AHEAD_MS = 5 * 60_000
/** At most this many commissions are read, the newest (section 8). */
const MAX_COMMISSIONS = 10_000

/**
 * Sums over a period, in one currency (section 4.6).
 *
 * @throws ApiError 400 `invalid_parameter` or `period_invalid`.
 */
export async function summarize(
  ctx: Context,
  query: Query<'getAnalytics'>,
): Promise<components['schemas']['Analytics']> {
  const { from, to: end } = lastDays(ctx, query, DAYS)
  const to = end ?? openEnd(ctx, from)
  const { affiliateId, programId, currency = ctx.shop.currency } = query
  const filter = { from, to, affiliateId, programId }
  const db = ctx.db.read
  const newest = { ...filter, currency, limit: MAX_COMMISSIONS + 1 }
  const commissions = await rows.listNewestCommissions(db, ctx.shop.id, newest)
  const { totals, dailyBreakdown, topAffiliates } = sums.summarize({
    from,
    to,
    commissions: commissions.slice(0, MAX_COMMISSIONS),
    clicksByDay: await rows.countClicksByDay(db, ctx.shop.id, filter),
    clicksByAffiliate: await rows.countClicksByAffiliate(db, ctx.shop.id, filter),
  })
  const currencies = (await rows.listCurrencies(db, ctx.shop.id, filter)).sort()
  const truncated = commissions.length > MAX_COMMISSIONS
  return { currency, currencies, truncated, totals, dailyBreakdown, topAffiliates: await named(ctx, topAffiliates) }
}

/** Up to now, and the few minutes that a caller's clock may be ahead; a period that has not begun is one instant. */
function openEnd(ctx: Context, from: string): string {
  const end = new Date(ctx.now() + AHEAD_MS).toISOString()
  return end < from ? from : end
}

/** Archived affiliates keep their names here: what they earned is history. */
async function named(ctx: Context, top: sums.TopAffiliate[]) {
  const ids = top.map((one) => one.affiliateId)
  const people = await findAffiliatesById(ctx.db.read, ctx.shop.id, ids)
  const names = new Map(people.map(({ id, name }) => [id, name]))
  return top.map(({ affiliateId, ...numbers }) => ({ affiliateId, name: names.get(affiliateId) ?? '', ...numbers }))
}
