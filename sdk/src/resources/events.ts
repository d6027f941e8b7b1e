import { type Call, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { ClickInput, Conversion, ConversionDryRun, ConversionInput, PageViewInput, Touch } from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'
import { keyOf } from '../report-key.ts'
import { headerOf } from '../retry.ts'
import type { RequestBody } from '../types.ts'

/**
 * Reports of orders, clicks and page views.
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
  options: (WriteOptions & { dryRun?: boolean }) | undefined,
  isKeyed?: boolean,
  complete = (reply: Data, _: Response): Data => reply,
): Call<Data> => {
  // The inputs do not express every requirement, so that orders can be built field by field.
  const body = { ...event, type } as EventBody
  return startCall(core, {
    options,
    body,
    query: options?.dryRun ? { dryRun: '1' as const } : {},
    deriveKey: isKeyed ? () => keyOf(body) : undefined,
    send: (init) => core.api.POST('/api/v1/events', init),
    pick: (reply, response) => (property in reply ? complete(reply as Data, response) : undefined),
  })
}
