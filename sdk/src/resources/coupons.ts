import type { Call } from '../call.ts'
import type { Core } from '../core.ts'
import { assignCoupon, listCoupons } from '../generated/operations.ts'
import { list } from '../list.ts'
import type { Coupon, CouponAssign, CouponQuery } from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'
import type { PagedCall } from '../paged.ts'

/** The discount code of each affiliate (section 4.5). */
export const coupons = (core: Core) => ({
  /** `code` finds any part of a code, in any case of letters. */
  list: (query?: CouponQuery, options?: CallOptions): PagedCall<Coupon> =>
    list(core, listCoupons, { query, options, pick: (reply) => reply, key: ({ affiliateId }) => affiliateId }),

  /** Gives an affiliate this code, or a new one. Throws ConflictError (`discount_code_taken`). */
  assign: (body: CouponAssign, options?: WriteOptions): Call<Coupon> =>
    core.call(assignCoupon, { body, options, pick: (reply) => reply.data }),
})
