import type { Call } from '../call.ts'
import type { Core } from '../core.ts'
import { getAnalytics } from '../generated/operations.ts'
import type { Analytics, AnalyticsQuery } from '../models.ts'
import type { CallOptions } from '../options.ts'

/** Sums over clicks, orders and commissions (section 4.6). */
export const analytics = (core: Core) => ({
  /** The last 30 days, unless `from` and `to` say otherwise; one currency at a time. */
  get: (query?: AnalyticsQuery, options?: CallOptions): Call<Analytics> =>
    core.call(getAnalytics, { query, options, pick: (reply) => reply }),
})
