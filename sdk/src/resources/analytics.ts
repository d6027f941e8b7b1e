import { type Call, startCall } from '../call.ts'
import type { Core } from '../core.ts'
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
    startCall(core, {
      options,
      query: query ?? {},
      send: (init) => core.api.GET('/api/v1/analytics', init),
      pick: (body): Analytics | undefined => (body.totals ? body : undefined),
    }),
})
