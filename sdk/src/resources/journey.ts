import { type Call, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { Journey, JourneyQuery } from '../models.ts'
import type { CallOptions } from '../options.ts'

/**
 * The clicks, page views and orders of one customer.
 *
 * @param core What `createCore` returns.
 *
 * @example
 * const core = createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: process.env.REFERRAL_BASE_URL })
 * const { journey: entries } = await journey(core).get({ customerEmail: 'buyer@example.com' })
 */
export const journey = (core: Core) => ({
  /**
   * Returns the latest `limit` entries, oldest first. Defaults to the last 90 days.
   *
   * @param query One of `sessionId`, `affiliateId` and `customerEmail`, and the period.
   * @param options Options of this call.
   * @throws {BadRequestError} `journey_identifier_required`, or `period_invalid` when `to` is before `from`.
   *
   * @example
   * const { journey } = await client.journey.get({ customerEmail: 'buyer@example.com' })
   */
  get: (query: JourneyQuery, options?: CallOptions): Call<Journey> =>
    startCall(core, {
      options,
      query,
      send: (init) => core.api.GET('/api/v1/journey', init),
      pick: (body): Journey | undefined => (body.journey ? body : undefined),
    }),
})
