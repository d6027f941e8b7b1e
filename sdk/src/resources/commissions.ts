import { type Call, pickOne, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { Commission, CommissionQuery } from '../models.ts'
import type { CallOptions } from '../options.ts'
import { listCall, type PagedCall, pickPage } from '../pagination.ts'

/**
 * What affiliates earned, one per order. Created by reporting conversions.
 *
 * @param core What `createCore` returns.
 *
 * @example
 * const core = createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: process.env.REFERRAL_BASE_URL })
 * const { data } = await commissions(core).list()
 */
export const commissions = (core: Core) => ({
  /**
   * Lists commissions, newest `happenedAt` first. `from` and `to` are inclusive.
   *
   * @param query Filters and the page. `after` continues after an ID.
   * @param options Options of this call.
   * @throws {BadRequestError} `period_invalid` when `to` is before `from`.
   *
   * @example
   * const approved = await client.commissions.list({ status: 'APPROVED' }).toArray()
   */
  list: (query?: CommissionQuery, options?: CallOptions): PagedCall<Commission> =>
    listCall(core, {
      query,
      options,
      send: (init) => core.api.GET('/api/v1/commissions', init),
      pick: pickPage<Commission>,
    }),

  /**
   * Returns a commission.
   *
   * @param id The commission's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `commission_not_found`.
   *
   * @example
   * const commission = await client.commissions.get(commissionId)
   */
  get: (id: string, options?: CallOptions): Call<Commission> =>
    startCall(core, {
      options,
      query: { id },
      send: (init) => core.api.GET('/api/v1/commissions', init),
      pick: pickOne('commission_not_found'),
    }),
})
