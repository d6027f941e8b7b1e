import { type Call, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { CancellationInput, ReportedCancellation } from '../models.ts'
import type { ReportOptions } from '../options.ts'
import { keyOf } from '../report-key.ts'

/**
 * Cancellations of orders that are reported as conversions.
 *
 * @param core What `createCore` returns.
 *
 * @example
 * const core = createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: process.env.REFERRAL_BASE_URL })
 * await cancellations(core).create({ externalOrderId: '1001' })
 */
export const cancellations = (core: Core) => ({
  /**
   * Reports that an order was canceled, before or after the order. Repeating it changes nothing. The idempotency key is a
   * hash of the cancellation's content.
   *
   * @param cancellation The order's ID.
   * @param options The options of a write, and `dryRun`.
   * @throws {BadRequestError} `invalid_body`.
   * @throws {UnknownOutcomeError} when every response was lost. Call its `reconcile()`.
   *
   * @example
   * const { outcome } = await client.cancellations.create({ externalOrderId: '1001' })
   */
  create: (cancellation: CancellationInput, options?: ReportOptions): Call<ReportedCancellation> =>
    startCall(core, {
      options,
      body: cancellation,
      query: options?.dryRun ? { dryRun: '1' as const } : {},
      deriveKey: () => keyOf(cancellation),
      send: (init) => core.api.POST('/api/v1/cancellations', init),
      pick: (reply: ReportedCancellation) => ('outcome' in reply ? reply : undefined),
    }),
})
