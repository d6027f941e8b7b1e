import type { Call } from '../call.ts'
import type { Core } from '../core.ts'
import { getJourney } from '../generated/operations.ts'
import type { Journey, JourneyQuery } from '../models.ts'
import type { CallOptions } from '../options.ts'

/** The path of one customer (section 4.7). */
export const journey = (core: Core) => ({
  /** Oldest first; the latest `limit` entries of the last 90 days, unless `from` and `to` say otherwise. */
  get: (query: JourneyQuery, options?: CallOptions): Call<Journey> =>
    core.call(getJourney, { query, options, pick: (reply) => reply }),
})
