import { audit, keys, privacy, session, settings } from './admin/access.ts'
import { affiliates, affiliateTokens, aliases } from './admin/affiliates.ts'
import { backtests, commissions, orders, payouts } from './admin/commissions.ts'
import { payees, payoutFiles } from './admin/payments.ts'
import { connections, geoRules, productRules } from './admin/rules.ts'
import { stores } from './admin/stores.ts'
import { testShops } from './admin/test-shops.ts'
import { deliveries, webhooks } from './admin/webhooks.ts'
import { type RawClient, rawMethods } from './client.ts'
import { createCore } from './core.ts'
import type { ClientOptions } from './options.ts'

export type { StoreOptions } from './admin/stores.ts'

/** The owner API of one shop, by resource. */
export interface AdminClient extends RawClient {
  readonly session: ReturnType<typeof session>
  readonly keys: ReturnType<typeof keys>
  readonly settings: ReturnType<typeof settings>
  readonly aliases: ReturnType<typeof aliases>
  readonly affiliates: ReturnType<typeof affiliates>
  readonly affiliateTokens: ReturnType<typeof affiliateTokens>
  readonly connections: ReturnType<typeof connections>
  readonly productRules: ReturnType<typeof productRules>
  readonly geoRules: ReturnType<typeof geoRules>
  readonly commissions: ReturnType<typeof commissions>
  readonly payouts: ReturnType<typeof payouts>
  readonly payees: ReturnType<typeof payees>
  readonly payoutFiles: ReturnType<typeof payoutFiles>
  readonly orders: ReturnType<typeof orders>
  readonly backtests: ReturnType<typeof backtests>
  readonly audit: ReturnType<typeof audit>
  readonly privacy: ReturnType<typeof privacy>
  readonly deliveries: ReturnType<typeof deliveries>
  readonly webhooks: ReturnType<typeof webhooks>
  readonly stores: ReturnType<typeof stores>
  readonly testShops: ReturnType<typeof testShops>
  /** Returns a client with some options changed, as `withOptions` of a `ReferralClient`. */
  withOptions(options: ClientOptions): AdminClient
}

/**
 * Creates a client for the owner API, which manages keys, settings, rules, decisions and webhooks of one shop.
 *
 * @param options As for `createReferralClient`; `apiKey` is an owner token (`ro_…`).
 * @returns A client with a method for each operation but signing in, which is for browsers.
 * @throws {TypeError} when an option is missing or malformed, or in a browser.
 *
 * @example
 * const admin = createAdminClient({ apiKey: process.env.REFERRAL_OWNER_TOKEN, baseUrl: process.env.REFERRAL_BASE_URL })
 * await admin.webhooks.update(subscription.id, { events: ['commission.created'] })
 */
export const createAdminClient = (options?: ClientOptions): AdminClient => {
  const core = createCore(options)
  return {
    ...rawMethods(core),
    session: session(core),
    keys: keys(core),
    settings: settings(core),
    aliases: aliases(core),
    affiliates: affiliates(core),
    affiliateTokens: affiliateTokens(core),
    connections: connections(core),
    productRules: productRules(core),
    geoRules: geoRules(core),
    commissions: commissions(core),
    payouts: payouts(core),
    payees: payees(core),
    payoutFiles: payoutFiles(core),
    orders: orders(core),
    backtests: backtests(core),
    audit: audit(core),
    privacy: privacy(core),
    deliveries: deliveries(core),
    webhooks: webhooks(core),
    stores: stores(core),
    testShops: testShops(core),
    withOptions: (changed) => createAdminClient({ ...options, ...changed }),
  }
}
