import { type Call, pickData, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { Coupon, CouponAssign, CouponQuery } from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'
import { listCall, type PagedCall, pickPage } from '../pagination.ts'

const path = '/api/v1/coupons'

/**
 * The discount codes of affiliates.
 *
 * @param core What `createCore` returns.
 *
 * @example
 * const core = createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: process.env.REFERRAL_BASE_URL })
 * const { data } = await coupons(core).list()
 */
export const coupons = (core: Core) => ({
  /**
   * Lists coupons. `code` matches any part of a code, case-insensitively.
   *
   * @param query Filters and the page. `after` continues after an affiliate's ID.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_parameter`.
   *
   * @example
   * const { data } = await client.coupons.list({ code: 'nisa' })
   */
  list: (query?: CouponQuery, options?: CallOptions): PagedCall<Coupon> =>
    listCall(core, {
      query,
      options,
      send: (init) => core.api.GET(path, init),
      pick: pickPage<Coupon>,
    }),

  /**
   * Assigns a discount code to an affiliate: the given `code`, or a generated one.
   *
   * @param body The affiliate, and the `code` to assign.
   * @param options Options of this call, such as `idempotencyKey`.
   * @throws {BadRequestError} `discount_code_invalid`.
   * @throws {NotFoundError} `affiliate_not_found`.
   * @throws {ConflictError} `discount_code_taken` when another affiliate has the code.
   *
   * @example
   * const { code } = await client.coupons.assign({ affiliateId: affiliate.id, code: 'N16' })
   */
  assign: (body: CouponAssign, options?: WriteOptions): Call<Coupon> =>
    startCall(core, { options, pick: pickData<Coupon>, body, send: (init) => core.api.POST(path, init) }),
})
