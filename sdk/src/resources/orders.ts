import { type Call, pickData, pickOne, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import { toApiError } from '../errors.ts'
import type { Order, OrderExplanation, OrderQuery } from '../models.ts'
import type { CallOptions } from '../options.ts'
import { listCall, type PagedCall, pickPage } from '../pagination.ts'

const path = '/api/v1/orders'

/**
 * Every order that was reported, by the API or by a store, credited or not.
 *
 * @param core What `createCore` returns.
 *
 * @example
 * const core = createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: process.env.REFERRAL_BASE_URL })
 * const { data } = await orders(core).list()
 */
export const orders = (core: Core) => ({
  /**
   * Lists orders, newest `happenedAt` first. `from` and `to` are inclusive.
   *
   * @param query Filters and the page. `credited` selects orders with or without an affiliate.
   * @param options Options of this call.
   * @throws {BadRequestError} `period_invalid` when `to` is before `from`.
   *
   * @example
   * for await (const { orderId, attribution } of client.orders.list({ credited: false }))
   *   console.log(orderId, attribution.reasonCode)
   */
  list: (query?: OrderQuery, options?: CallOptions): PagedCall<Order> =>
    listCall(core, {
      query: { ...query, credited: query?.credited === undefined ? undefined : (`${query.credited}` as const) },
      options,
      send: (init) => core.api.GET(path, init),
      pick: pickPage<Order>,
    }),

  /**
   * Returns an order.
   *
   * @param externalOrderId Your ID, the stored ID (`api:1001`), or the order's name in the store (`#1001`).
   * @param options Options of this call.
   * @throws {NotFoundError} `order_not_found` when it was never reported.
   * @throws {ConflictError} `order_ambiguous` when several orders match.
   *
   * @example
   * const { commissionId, attribution } = await client.orders.get(externalOrderId)
   */
  get: (externalOrderId: string, options?: CallOptions): Call<Order> =>
    startCall(core, {
      options,
      query: { externalOrderId },
      send: (init) => core.api.GET(path, init),
      pick: (page, response, details): Order => {
        if (page.data.length < 2) return pickOne('order_not_found')(page, response, details)
        const named = page.data.map(({ orderId }) => orderId).join(', ')
        throw toApiError(`Several orders match: ${named}.`, { ...details, response, code: 'order_ambiguous' }, 409)
      },
    }),

  /**
   * Explains why an order earned a commission, or none.
   *
   * @param externalOrderId As for `get`.
   * @param options Options of this call.
   * @throws {NotFoundError} `order_not_found` when it was never reported.
   * @throws {ConflictError} `order_ambiguous` when several orders match.
   *
   * @example
   * const { outcome, summary } = await client.orders.explain(externalOrderId)
   */
  explain: (externalOrderId: string, options?: CallOptions): Call<OrderExplanation> =>
    startCall(core, {
      options,
      query: { externalOrderId },
      send: (init) => core.api.GET('/api/v1/orders/explanation', init),
      pick: pickData,
    }),
})
