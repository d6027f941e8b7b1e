import { totalTooLarge } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Query } from '../../contract/spec.ts'
import type { Context } from '../../core/context.ts'
import { readFrom } from '../../core/lists.ts'
import { lastDays } from '../../core/time.ts'
import { defineReport, type Reader } from '../../database/database.ts'
import * as sums from '../../engine/analytics.ts'
import { CLOCK_TOLERANCE_MS } from '../../engine/attribution.ts'
import { findAffiliatesById } from '../affiliates/queries.ts'
import * as rows from './queries.ts'

const DEFAULT_DAYS = 30

/**
 * Totals for a period in one currency. They read thousands of rows, so they run in the report worker.
 *
 * @throws ApiError 400 `invalid_parameter` or `period_invalid`, 409 `total_too_large`.
 */
export async function summarize(
  ctx: Context,
  query: Query<'getAnalytics'>,
): Promise<components['schemas']['Analytics']> {
  const { from, to: end } = lastDays(ctx, query, DEFAULT_DAYS)
  const { affiliateId, programId, currency = ctx.shop.currency } = query
  const request: AnalyticsRequest = { currency, from, to: end ?? openEnd(ctx, from) }
  if (affiliateId) request.affiliateId = affiliateId
  if (programId) request.programId = programId
  const sums = await readFrom(ctx, analyticsReport, request)
  if (!sums) throw totalTooLarge()
  return sums
}

/** Now, plus the tolerance for differing clocks. A period that starts later is one instant. */
function openEnd(ctx: Context, from: string): string {
  const end = new Date(ctx.now() + CLOCK_TOLERANCE_MS).toISOString()
  return end < from ? from : end
}

interface AnalyticsRequest {
  currency: string
  /** Instants, both inclusive. */
  from: string
  to: string
  affiliateId?: string
  programId?: string
}

type Analytics = components['schemas']['Analytics']

/** The maximum number of commissions to read, newest first. */
const MAX_COMMISSIONS = 10_000

/** A period's totals. Null if one exceeds the largest exact integer. */
export const analyticsReport = defineReport(
  import.meta.url,
  'analyticsReport',
  async (db, { shopId, query }: { shopId: string; query: AnalyticsRequest }): Promise<Analytics | null> => {
    const { currency, ...filter } = query
    const commissions = await rows.listNewestCommissions(db, shopId, {
      ...filter,
      currency,
      limit: MAX_COMMISSIONS + 1,
    })
    const summed = sums.summarize({
      from: filter.from,
      to: filter.to,
      currency,
      commissions: commissions.slice(0, MAX_COMMISSIONS),
      clicksByDay: await rows.countClicksByDay(db, shopId, filter),
      clicksByAffiliate: await rows.countClicksByAffiliate(db, shopId, filter),
    })
    if (!summed) return null
    const { totals, dailyBreakdown, topAffiliates } = summed
    const currencies = (await rows.listCurrencies(db, shopId, filter)).sort()
    const truncated = commissions.length > MAX_COMMISSIONS
    return {
      currency,
      currencies,
      truncated,
      totals,
      dailyBreakdown,
      topAffiliates: await withNames(db, shopId, topAffiliates),
    }
  },
)

/** Adds the names of affiliates, including archived ones. */
async function withNames(db: Reader, shopId: string, top: sums.TopAffiliate[]): Promise<Analytics['topAffiliates']> {
  const people = await findAffiliatesById(
    db,
    shopId,
    top.map((affiliate) => affiliate.affiliateId),
  )
  const names = new Map(people.map(({ id, name }) => [id, name]))
  return top.map(({ affiliateId, ...numbers }) => ({ affiliateId, name: names.get(affiliateId) ?? '', ...numbers }))
}
