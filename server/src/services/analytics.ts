import type { Context } from '../context.ts'
import { totalTooLarge } from '../errors.ts'
import type { components } from '../http/schema.d.ts'
import type { Query } from '../http/spec.ts'
import type { AnalyticsWish } from './analytics-sums.ts'
import { lastDays } from './instant.ts'
import { report } from './report.ts'

const DAYS = 30
const AHEAD_MS = 5 * 60_000
const SUMS = new URL('./analytics-sums.ts', import.meta.url)

/**
 * Sums over a period, in one currency (section 4.6). They read thousands of rows, so they are made aside.
 *
 * @throws ApiError 400 `invalid_parameter` or `period_invalid`, 409 `total_too_large`.
 */
export async function summarize(
  ctx: Context,
  query: Query<'getAnalytics'>,
): Promise<components['schemas']['Analytics']> {
  const { from, to: end } = lastDays(ctx, query, DAYS)
  const { affiliateId, programId, currency = ctx.shop.currency } = query
  const wish: AnalyticsWish = { shopId: ctx.shop.id, currency, from, to: end ?? openEnd(ctx, from) }
  if (affiliateId) wish.affiliateId = affiliateId
  if (programId) wish.programId = programId
  const sums = await report<components['schemas']['Analytics'] | null>(ctx, SUMS, wish)
  if (!sums) throw totalTooLarge()
  return sums
}

/** Up to now, and the few minutes that a caller's clock may be ahead; a period that has not begun is one instant. */
function openEnd(ctx: Context, from: string): string {
  const end = new Date(ctx.now() + AHEAD_MS).toISOString()
  return end < from ? from : end
}
