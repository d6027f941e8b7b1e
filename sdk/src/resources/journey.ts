import { type Call, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { Journey, JourneyQuery } from '../models.ts'
import type { CallOptions } from '../options.ts'

/** The clicks, page views and orders of one customer. */
export const journey = (core: Core) => ({
  /**
   * Returns the latest `limit` entries, oldest first. Defaults to the last 90 days.
   *
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
