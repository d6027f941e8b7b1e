import { type Call, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { Analytics, AnalyticsQuery } from '../models.ts'
import type { CallOptions } from '../options.ts'

/**
 * Totals of clicks, orders and commissions.
 *
 * @param core What `createCore` returns.
 *
 * @example
 * const core = createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: process.env.REFERRAL_BASE_URL })
 * const { totals } = await analytics(core).get()
 */
export const analytics = (core: Core) => ({
  /**
   * Returns the totals of one currency. Defaults to the last 30 days.
   *
   * @param query The period, and `currency` if the shop has several.
   * @param options Options of this call.
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
