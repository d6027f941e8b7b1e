import { createCore } from './core.ts'
import type { ClientOptions } from './options.ts'
import { createRawClient, type RawClient } from './raw-client.ts'
import { affiliates } from './resources/affiliates.ts'
import { analytics } from './resources/analytics.ts'
import { commissions } from './resources/commissions.ts'
import { coupons } from './resources/coupons.ts'
import { events } from './resources/events.ts'
import { journey } from './resources/journey.ts'
import { payouts } from './resources/payouts.ts'
import { programs } from './resources/programs.ts'
import { webhooks } from './resources/webhooks.ts'
import type { RateLimit } from './retry.ts'

/** The API of one shop, by resource. */
export interface ReferralClient extends RawClient {
  readonly affiliates: ReturnType<typeof affiliates>
  readonly programs: ReturnType<typeof programs>
  readonly commissions: ReturnType<typeof commissions>
  readonly payouts: ReturnType<typeof payouts>
  readonly coupons: ReturnType<typeof coupons>
  readonly analytics: ReturnType<typeof analytics>
  readonly journey: ReturnType<typeof journey>
  readonly events: ReturnType<typeof events>
  readonly webhooks: ReturnType<typeof webhooks>
  /** The rate limit window of the last response, undefined before the first. */
  readonly rateLimit: RateLimit | undefined
}

/**
 * Creates a client for one shop.
 *
 * @throws {TypeError} when `apiKey` or `baseUrl` is missing or malformed, or in a browser.
 *
 * @example
 * const client = createReferralClient({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: 'https://referrals.example.com' })
 * const affiliate = await client.affiliates.create({ email: 'noor@example.com', name: 'Noor Haddad' })
 */
export const createReferralClient = (options: ClientOptions): ReferralClient => {
  const core = createCore(options)
  const { GET, POST, PUT, PATCH, DELETE } = createRawClient(core)
  return {
    affiliates: affiliates(core),
    programs: programs(core),
    commissions: commissions(core),
    payouts: payouts(core),
    coupons: coupons(core),
    analytics: analytics(core),
    journey: journey(core),
    events: events(core),
    webhooks: webhooks(core),
    GET,
    POST,
    PUT,
    PATCH,
    DELETE,
    get rateLimit() {
      return core.rateLimit
    },
  }
}
