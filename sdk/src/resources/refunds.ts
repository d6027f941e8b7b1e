import { type Call, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { CanceledRefund, RefundCancel, RefundInput, ReportedRefund } from '../models.ts'
import type { CallOptions, ReportOptions } from '../options.ts'
import { keyOf } from '../report-key.ts'

const path = '/api/v1/refunds'

/**
 * Refunds of orders that are reported as conversions.
 *
 * @param core What `createCore` returns.
 *
 * @example
 * const core = createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: process.env.REFERRAL_BASE_URL })
 * await refunds(core).create({ externalOrderId: '1001', externalRefundId: 're-1', amountCents: 3000 })
 */
export const refunds = (core: Core) => ({
  /**
   * Reports refunded goods of an order, before or after the order. The same refund ID again changes nothing. The idempotency
   * key is a hash of the refund's content.
   *
   * @param refund `amountCents` is goods net of discount, without shipping and tax, in the order's currency.
   * @param options The options of a write, and `dryRun`.
   * @throws {BadRequestError} `invalid_body`.
   * @throws {ConflictError} `refund_currency_mismatch` or `store_refund_limit_reached`.
   *
   * @example
   * const { commission, warning } = await client.refunds.create({
   *   externalOrderId: '1001',
   *   externalRefundId: 're-1',
   *   amountCents: 3000,
   * })
   */
  create: (refund: RefundInput, options?: ReportOptions): Call<ReportedRefund> =>
    startCall(core, {
      options,
      body: refund,
      query: options?.dryRun ? { dryRun: '1' as const } : {},
      deriveKey: () => keyOf(refund),
      send: (init) => core.api.POST(path, init),
      pick: (reply: ReportedRefund) => ('outcome' in reply ? reply : undefined),
    }),

  /**
   * Cancels a refund that did not last, such as one that failed or a dispute that was won, before or after its report. The
   * commission becomes what it would be without it. Repeating it changes nothing.
   *
   * @param refund The IDs of the order and of the refund.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_parameter`.
   * @throws {ConflictError} `store_refund_limit_reached`.
   *
   * @example
   * const { commission } = await client.refunds.cancel({ externalOrderId: '1001', externalRefundId: 're-1' })
   */
  cancel: (refund: RefundCancel, options?: CallOptions): Call<CanceledRefund> =>
    startCall(core, {
      options,
      query: refund,
      send: (init) => core.api.DELETE(path, init),
      pick: (reply: CanceledRefund) => ('outcome' in reply ? reply : undefined),
    }),
})
