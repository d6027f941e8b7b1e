import { type Call, pickAction, pickData, pickReply, recoverRemoval, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { ActionReply } from '../models.ts'
import type { CallOptions } from '../options.ts'
import type { components } from '../schema.ts'
import type { RequestBody } from '../types.ts'

type Schemas = components['schemas']

/** Test shops, with their own data, keys, and clock. */
export const testShops = (core: Core) => ({
  /**
   * Lists the shop's test shops.
   *
   * @param options Options of this call.
   * @throws {ForbiddenError} for users who are not owners.
   *
   * @example
   * const { data } = await admin.testShops.list()
   */
  list: (options?: CallOptions): Call<Schemas['TestShopList']> =>
    startCall(core, { options, send: (init) => core.api.GET('/admin/v1/test-shops', init), pick: pickReply }),

  /**
   * Creates a test shop. Its owner token and its API key are returned once. It is not sent again when its outcome is unknown.
   *
   * @param body Its name.
   * @param options Options of this call.
   * @throws {ConflictError} `test_shop_limit_reached`, or `shop_is_test` in a test shop.
   * @throws {UnknownOutcomeError} when the response was lost. List the test shops, and delete the new one.
   *
   * @example
   * const { id, apiKey } = await admin.testShops.create({ name: 'Checkout tests' })
   */
  create: (body: RequestBody<'createTestShop'> = {}, options?: CallOptions): Call<Schemas['TestShopCreated']> =>
    startCall(core, { options, body, send: (init) => core.api.POST('/admin/v1/test-shops', init), pick: pickData }),

  /**
   * Advances a test shop's clock.
   *
   * @param id The test shop's ID.
   * @param body By how many seconds, or to which instant.
   * @param options Options of this call.
   * @throws {NotFoundError} `test_shop_not_found`.
   *
   * @example
   * await admin.testShops.advanceClock(testShop.id, { advanceSeconds: 31 * 86_400 })
   */
  advanceClock: (id: string, body: RequestBody<'advanceTestClock'>, options?: CallOptions): Call<Schemas['TestShop']> =>
    startCall(core, {
      options,
      body,
      send: (init) => core.api.POST('/admin/v1/test-shops/{id}/clock', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /**
   * Deletes a test shop with its data and credentials.
   *
   * @param id The test shop's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `test_shop_not_found`.
   *
   * @example
   * await admin.testShops.delete(testShop.id)
   */
  delete: (id: string, options?: CallOptions): Call<ActionReply> =>
    startCall(core, {
      options,
      send: (init) => core.api.DELETE('/admin/v1/test-shops/{id}', { ...init, params: { path: { id } } }),
      pick: pickAction,
      recover: recoverRemoval(id, 'test_shop_not_found'),
    }),
})
