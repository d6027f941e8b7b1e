import type { Core } from '../core.ts'
import type { Commission, CommissionQuery } from '../models.ts'
import type { CallOptions } from '../options.ts'
import { listCall, type PagedCall, pickPage } from '../pagination.ts'

/** What affiliates earned, one per order. Created by reporting conversions. */
export const commissions = (core: Core) => ({
  /**
   * Lists commissions, newest `happenedAt` first. `from` and `to` are inclusive.
   *
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
})
