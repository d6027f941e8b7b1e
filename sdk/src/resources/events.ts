import { type Call, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type {
  CancellationInput,
  ClickInput,
  Conversion,
  ConversionDryRun,
  ConversionInput,
  PageViewInput,
  RefundInput,
  ReportedCancellation,
  ReportedRefund,
  Touch,
} from '../models.ts'
import type { CallOptions, ReportOptions, WriteOptions } from '../options.ts'
import { headerOf } from '../retry.ts'
import type { RequestBody } from '../types.ts'

/**
 * Reports of orders, refunds, cancellations, clicks and page views.
 *
 * @param core What `createCore` returns.
 *
 * @example
 * const core = createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: process.env.REFERRAL_BASE_URL })
 * await events(core).click({ ref: 'nisa-karim' })
 */
export const events = (core: Core) => ({
  /**
   * Reports an order and returns its attribution and commission. The idempotency key is a hash of the order's content, so
   * that running an import again records nothing twice.
   *
   * @param order All amounts are in minor units.
   * @param options Options of this call, such as `idempotencyKey`.
   * @throws {BadRequestError} `invalid_body` or `occurred_at_in_future`.
   * @throws {UnknownOutcomeError} when every response was lost. Call its `reconcile()`.
   *
   * @example
   * const order = { externalOrderId: '1001', amountCents: 10_000, currency: 'USD', couponCode: 'NISA16' }
   * const { attribution, commission } = await client.events.conversion(order)
   */
  conversion: (order: ConversionInput, options?: WriteOptions): Call<Conversion> =>
    report(core, 'conversion', 'attribution', order, options, true, (reply: Conversion, response) => {
      const isSet = (name: string) => headerOf(response, name) === 'true'
      const differs = isSet('X-Order-Differs')
      if (differs)
        core.warn(`Order ${order.externalOrderId} is already recorded with other amounts. Nothing was changed.`)
      return { ...reply, alreadyRecorded: isSet('X-Order-Already-Recorded'), differs }
    }),

  /**
   * Returns what `conversion` would decide, with the trace of the decision. Writes nothing.
   *
   * @param order All amounts are in minor units.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_body` or `occurred_at_in_future`.
   *
   * @example
   * const { trace } = await client.events.dryRun({ externalOrderId: '1001', amountCents: 10_000, currency: 'USD' })
   */
  dryRun: (order: ConversionInput, options?: CallOptions): Call<ConversionDryRun> =>
    report(core, 'conversion', 'trace', order, { ...options, dryRun: true }),

  /**
   * Reports refunded goods of an order, before or after the order. The same refund id again changes nothing. The idempotency
   * key is a hash of the refund's content.
   *
   * @param refund `amountCents` is goods net of discount, without shipping and tax, in the order's currency.
   * @param options The options of a write, and `dryRun`.
   * @throws {ConflictError} `refund_currency_mismatch` or `store_refund_limit_reached`.
   *
   * @example
   * const { commission, warning } = await client.events.refund({
   *   externalOrderId: '1001',
   *   externalRefundId: 're-1',
   *   amountCents: 3000,
   * })
   */
  refund: (refund: RefundInput, options?: ReportOptions): Call<ReportedRefund> =>
    report(core, 'refund', 'outcome', refund, options, true),

  /**
   * Reports that an order was canceled, before or after the order. Repeating it changes nothing. The idempotency key is a
   * hash of the cancellation's content.
   *
   * @param order The id of the order.
   * @param options The options of a write, and `dryRun`.
   * @throws {BadRequestError} `invalid_body`.
   * @throws {UnknownOutcomeError} when every response was lost. Call its `reconcile()`.
   *
   * @example
   * const { outcome } = await client.events.cancel({ externalOrderId: '1001' })
   */
  cancel: (order: CancellationInput, options?: ReportOptions): Call<ReportedCancellation> =>
    report(core, 'order_canceled', 'outcome', order, options, true),

  /**
   * Reports a click on an affiliate's link.
   *
   * @param click One of `ref`, `affiliateCode`, `affiliateId` and `clickId`, with the landing page and the session.
   * @param options Options of this call, such as `idempotencyKey`.
   * @returns The recorded click. Pass its `id` as `clickId` of a later order.
   * @throws {BadRequestError} `invalid_body` or `occurred_at_in_future`.
   *
   * @example
   * const { id: clickId } = await client.events.click({ ref: 'nisa-karim' })
   */
  click: (click: ClickInput, options?: WriteOptions): Call<Touch> => report(core, 'click', 'id', click, options),

  /**
   * Reports a page view.
   *
   * @param view The page, with the session.
   * @param options Options of this call, such as `idempotencyKey`.
   * @throws {BadRequestError} `invalid_body` or `occurred_at_in_future`.
   *
   * @example
   * await client.events.pageView({ url: 'https://shop.example/hats', sessionId: 's-1' })
   */
  pageView: (view: PageViewInput, options?: WriteOptions): Call<Touch> =>
    report(core, 'page_view', 'id', view, options),
})

type EventBody = RequestBody<'recordEvent'>

/** Sends an event. The reply to it is the one of the union that has the property. */
const report = <Data>(
  core: Core,
  type: string,
  property: string,
  event: object,
  options: ReportOptions | undefined,
  isKeyed?: boolean,
  complete = (reply: Data, _: Response): Data => reply,
): Call<Data> => {
  // The inputs do not express every requirement, so that orders can be built field by field.
  const body = { ...event, type } as EventBody
  return startCall(core, {
    options,
    body,
    query: options?.dryRun ? { dryRun: '1' as const } : {},
    deriveKey: isKeyed ? () => hashBody(body) : undefined,
    send: (init) => core.api.POST('/api/v1/events', init),
    pick: (reply, response) => (property in reply ? complete(reply as Data, response) : undefined),
  })
}

/** Derives the idempotency key of an event from its content, regardless of field order. */
const hashBody = async (body: unknown): Promise<string> => {
  const bytes = new TextEncoder().encode(JSON.stringify(body, sortKeys))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return `order-${Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

const sortKeys = (_: string, value: unknown): unknown =>
  value && typeof value === 'object' && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).sort()) : value
