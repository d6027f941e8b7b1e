import type { Call } from '../call.ts'
import type { Core } from '../core.ts'
import { recordEvent } from '../generated/operations.ts'
import { orderKey } from '../idempotency.ts'
import type { ClickInput, Conversion, ConversionDryRun, ConversionInput, PageViewInput, Touch } from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'
import type { Body } from '../types.ts'

// The flat type does not say that an amount is required, so that orders can be built field by field.
const toBody = (order: ConversionInput) => ({ ...order, type: 'conversion' }) as Body<'recordEvent'>

/** Orders, clicks and page views of your own checkout (section 4.9). */
export const events = (core: Core) => ({
  /**
   * Reports an order: the engine decides who referred it and what it earns. All money is in minor units.
   * The idempotency key is made from the order and its content, so that an import that is run again counts nothing twice.
   */
  conversion: (order: ConversionInput, options?: WriteOptions): Call<Conversion> =>
    core.call(recordEvent, {
      body: toBody(order),
      options,
      key: orderKey,
      pick: (reply) => reply as Conversion,
    }),

  /** The decision and the way to it. Writes nothing. */
  dryRun: (order: ConversionInput, options?: CallOptions): Call<ConversionDryRun> =>
    core.call(recordEvent, {
      query: { dryRun: '1' },
      body: toBody(order),
      options,
      pick: (reply) => reply as ConversionDryRun,
    }),

  /** Reports a click on an affiliate's link. Keep `id`: it is the `clickId` of a later order. */
  click: (click: ClickInput, options?: WriteOptions): Call<Touch> =>
    core.call(recordEvent, { body: { ...click, type: 'click' }, options, pick: (reply) => reply as Touch }),

  /** Reports a page that was seen. */
  pageView: (view: PageViewInput, options?: WriteOptions): Call<Touch> =>
    core.call(recordEvent, { body: { ...view, type: 'page_view' }, options, pick: (reply) => reply as Touch }),
})
