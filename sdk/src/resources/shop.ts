import { type Call, pickData, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { Shop } from '../models.ts'
import type { CallOptions } from '../options.ts'

/**
 * The API key's shop.
 *
 * @param core What `createCore` returns.
 *
 * @example
 * const core = createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: process.env.REFERRAL_BASE_URL })
 * const { currency } = await shop(core).get()
 */
export const shop = (core: Core) => ({
  /**
   * Returns the shop. Works with any valid key.
   *
   * @param options Options of this call.
   * @throws {UnauthorizedError} when the key is missing or malformed.
   *
   * @example
   * const { timeZone, currency } = await client.shop.get()
   */
  get: (options?: CallOptions): Call<Shop> =>
    startCall(core, {
      options,
      send: (init) => core.api.GET('/api/v1/shop', init),
      pick: pickData<Shop>,
    }),
})
