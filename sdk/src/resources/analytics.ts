import type { Call } from '../call.ts'
import type { Core } from '../core.ts'
import { getAnalytics } from '../generated/operations.ts'
import type { Analytics, AnalyticsQuery } from '../models.ts'
import type { CallOptions } from '../options.ts'

/** Totals of clicks, orders and commissions. */
export const analytics = (core: Core) => ({
  /**
   * Returns the totals of one currency. Defaults to the last 30 days.
   *
   * @throws {BadRequestError} `period_invalid` when `to` is before `from`.
   * @throws {ConflictError} `total_too_large` when a total exceeds the largest exact integer. Choose a shorter period.
   *
   * @example
   * const { totals, currency } = await client.analytics.get({ from: '2026-10-01', to: '2026-10-31' })
   */
  get: (query?: AnalyticsQuery, options?: CallOptions): Call<Analytics> =>
    core.call(getAnalytics, { query, options, pick: (body) => body }),
})
