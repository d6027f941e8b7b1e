import { type Call, pickData, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { Shop } from '../models.ts'
import type { CallOptions } from '../options.ts'

/** The shop of the API key. */
export const shop = (core: Core) => ({
  /**
   * Returns the shop. Works with any valid key.
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
