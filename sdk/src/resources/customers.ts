import { type Call, pickAction, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { ActionReply, Customer, CustomerCreate, CustomerQuery, ReportedCustomer } from '../models.ts'
import type { CallOptions, ReportOptions } from '../options.ts'
import { listCall, type PagedCall } from '../pagination.ts'
import { headerOf } from '../retry.ts'

const path = '/api/v1/customers'

/** Only a dry run's customer has none. */
const hasId = <T extends { id: string | null }>(customer: T): customer is T & { id: string } => customer.id !== null

/**
 * Customers, and the affiliates who referred them.
 *
 * @param core What `createCore` returns.
 *
 * @example
 * const core = createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: process.env.REFERRAL_BASE_URL })
 * const { data } = await customers(core).list()
 */
export const customers = (core: Core) => ({
  /**
   * Lists customers, newest first.
   *
   * @param query Filters and the page.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_parameter`.
   *
   * @example
   * const { data } = await client.customers.list({ affiliateId })
   */
  list: (query?: CustomerQuery, options?: CallOptions): PagedCall<Customer> =>
    listCall(core, {
      query,
      options,
      send: (init) => core.api.GET(path, init),
      pick: ({ data, pagination }) => (data.every(hasId) ? { data, pagination } : undefined),
    }),

  /**
   * Reports a customer who signed up, and binds the customer to the affiliate that the evidence names. The first binding is
   * kept.
   *
   * @param customer `customerId` or `customerEmail`, and evidence such as `clickId`, `ref` or `couponCode`.
   * @param options The options of a write, and `dryRun`.
   * @throws {BadRequestError} `invalid_body` or `occurred_at_in_future`.
   *
   * @example
   * const { data, attribution } = await client.customers.create({ customerId: 'customer-7', couponCode: 'NISA16' })
   */
  create: (customer: CustomerCreate, options?: ReportOptions): Call<ReportedCustomer> =>
    startCall(core, {
      options,
      body: customer,
      query: options?.dryRun ? { dryRun: '1' as const } : {},
      send: (init) => core.api.POST(path, init),
      pick: (reply: Omit<ReportedCustomer, 'alreadyBound'>, response): ReportedCustomer | undefined =>
        'attribution' in reply
          ? { ...reply, alreadyBound: headerOf(response, 'X-Customer-Already-Bound') === 'true' }
          : undefined,
    }),

  /**
   * Unbinds a customer from its affiliate. Recorded commissions stay.
   *
   * @param id The customer's ID (`cus_…`).
   * @param options Options of this call.
   * @throws {NotFoundError} `customer_not_found`.
   *
   * @example
   * const { data } = await client.customers.create({ customerId: 'customer-8', couponCode: 'NISA16' })
   * if (data.id) await client.customers.unbind(data.id)
   */
  unbind: (id: string, options?: CallOptions): Call<ActionReply> =>
    startCall(core, {
      options,
      pick: pickAction,
      query: { id },
      send: (init) => core.api.DELETE(path, init),
    }),
})
