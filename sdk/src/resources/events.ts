import { type Call, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type { ClickInput, Conversion, ConversionDryRun, ConversionInput, PageViewInput, Touch } from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'
import type { RequestBody } from '../types.ts'

const path = '/api/v1/events'

/** Reports of orders, clicks and page views. */
export const events = (core: Core) => ({
  /**
   * Reports an order and returns its attribution and commission. The idempotency key is a hash of the order's content, so
   * that running an import again records nothing twice.
   *
   * @param order All amounts are in minor units.
   * @throws {BadRequestError} `invalid_body` or `occurred_at_in_future`.
   * @throws {UnknownOutcomeError} when every response was lost. Call its `reconcile()`.
   *
   * @example
   * const order = { externalOrderId: '1001', amountCents: 10_000, couponCode: 'NISA16' }
   * const { attribution, commission } = await client.events.conversion(order)
   */
  conversion: (order: ConversionInput, options?: WriteOptions): Call<Conversion> => {
    const body = conversionBody(order)
    return startCall(core, {
      options,
      deriveKey: () => hashOrder(body),
      body,
      send: (init) => core.api.POST(path, init),
      pick: (reply): Conversion | undefined => ('attribution' in reply && reply.commission ? reply : undefined),
    })
  },

  /**
   * Returns what `conversion` would decide, with the trace of the decision. Writes nothing.
   *
   * @param order All amounts are in minor units.
   * @throws {BadRequestError} `invalid_body` or `occurred_at_in_future`.
   *
   * @example
   * const { trace } = await client.events.dryRun({ externalOrderId: '1001', amountCents: 10_000 })
   */
  dryRun: (order: ConversionInput, options?: CallOptions): Call<ConversionDryRun> =>
    startCall(core, {
      options,
      query: { dryRun: '1' },
      body: conversionBody(order),
      send: (init) => core.api.POST(path, init),
      pick: (reply): ConversionDryRun | undefined => ('trace' in reply ? reply : undefined),
    }),

  /**
   * Reports a click on an affiliate's link.
   *
   * @returns The recorded click. Pass its `id` as `clickId` of a later order.
   * @throws {BadRequestError} `invalid_body` or `occurred_at_in_future`.
   *
   * @example
   * const { id: clickId } = await client.events.click({ ref: 'noor-haddad' })
   */
  click: (click: ClickInput, options?: WriteOptions): Call<Touch> =>
    sendTouch(core, { ...click, type: 'click' }, options),

  /**
   * Reports a page view.
   *
   * @throws {BadRequestError} `invalid_body` or `occurred_at_in_future`.
   *
   * @example
   * await client.events.pageView({ url: 'https://shop.example/hats', sessionId: 's-1' })
   */
  pageView: (view: PageViewInput, options?: WriteOptions): Call<Touch> =>
    sendTouch(core, { ...view, type: 'page_view' }, options),
})

const sendTouch = (core: Core, body: RequestBody<'recordEvent'>, options: WriteOptions | undefined): Call<Touch> =>
  startCall(core, {
    options,
    body,
    send: (init) => core.api.POST(path, init),
    pick: (reply): Touch | undefined => ('id' in reply ? reply : undefined),
  })

// ConversionInput does not express that an amount is required, so that orders can be built field by field.
const conversionBody = (order: ConversionInput) => ({ ...order, type: 'conversion' }) as RequestBody<'recordEvent'>

/** Derives the idempotency key of an order from its content, regardless of field order. */
const hashOrder = async (body: unknown): Promise<string> => {
  const bytes = new TextEncoder().encode(JSON.stringify(body, sortKeys))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return `order-${Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

const sortKeys = (_: string, value: unknown): unknown =>
  value && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value
