import { type Call, LazyCall, pickAction } from '../call.ts'
import type { CallInput, Core } from '../core.ts'
import type { ActionReply } from '../models.ts'
import type { CallOptions } from '../options.ts'
import type { RequestBody } from '../types.ts'

/** Options of a store notification. */
export interface StoreOptions extends CallOptions {
  /** The shop that receives it, from `session.get`. */
  shopId: string
  /** `storeWebhookSecret` of the settings of the shop. */
  secret: string
  /** `storeDomain` of the settings, when it is set. */
  domain?: string | undefined
}

/**
 * Notifications of a store, signed as the store signs them: for orders whose notification was lost, and for tests. The
 * token of the client is not used.
 */
export const stores = (core: Core) => ({
  /**
   * Records a paid order of the store. The same order again changes nothing.
   *
   * @param order The order as the store reports it.
   * @param options The shop, the secret that signs, and a call's options.
   * @throws {UnauthorizedError} when the secret or the domain is not that of the shop.
   *
   * @example
   * const order = { id: 5678901234567, financial_status: 'paid' as const, total_line_items_price: '100.00' }
   * const { id: commissionId } = await admin.stores.orderPaid(order, store)
   */
  orderPaid: (order: RequestBody<'recordStoreOrder'>, options: StoreOptions): Call<ActionReply> =>
    notify(core, order, options, {
      send: (init) =>
        core.api.POST('/integrations/shopify/{shopId}/orders-paid', {
          ...init,
          params: { path: { shopId: options.shopId }, header: { 'X-Shopify-Topic': 'orders/paid' } },
        }),
    }),

  /**
   * Cancels an order of the store, before or after it was recorded.
   *
   * @param order The order as the store reports it.
   * @param options The shop, the secret that signs, and a call's options.
   * @throws {UnauthorizedError} when the secret or the domain is not that of the shop.
   *
   * @example
   * await admin.stores.orderCanceled({ id: 5678901234567, cancelled_at: '2026-11-02T09:30:00Z' }, store)
   */
  orderCanceled: (order: RequestBody<'cancelStoreOrder'>, options: StoreOptions): Call<ActionReply> =>
    notify(core, order, options, {
      send: (init) =>
        core.api.POST('/integrations/shopify/{shopId}/orders-cancelled', {
          ...init,
          params: { path: { shopId: options.shopId }, header: { 'X-Shopify-Topic': 'orders/cancelled' } },
        }),
    }),

  /**
   * Refunds an order of the store, before or after it was recorded. The same refund again changes nothing.
   *
   * @param refund The refund as the store reports it.
   * @param options The shop, the secret that signs, and a call's options.
   * @throws {UnauthorizedError} when the secret or the domain is not that of the shop.
   * @throws {ConflictError} `store_refund_limit_reached`.
   *
   * @example
   * await admin.stores.refundCreated({ id: 929361463, order_id: 5678901234567, refund_line_items: [] }, store)
   */
  refundCreated: (refund: RequestBody<'refundStoreOrder'>, options: StoreOptions): Call<ActionReply> =>
    notify(core, refund, options, {
      send: (init) =>
        core.api.POST('/integrations/shopify/{shopId}/refunds-create', {
          ...init,
          params: { path: { shopId: options.shopId }, header: { 'X-Shopify-Topic': 'refunds/create' } },
        }),
    }),
})

/** Signs a notification and sends it. */
const notify = <Body>(
  core: Core,
  body: Body,
  { shopId, secret, domain, ...options }: StoreOptions,
  { send }: Pick<CallInput<undefined, Body, ActionReply, ActionReply>, 'send'>,
): Call<ActionReply> => {
  const call = new LazyCall(async () => {
    // openapi-fetch sends exactly this text.
    const signature = await sign(JSON.stringify(body), secret)
    const store = { 'X-Shopify-Hmac-Sha256': signature, ...(domain && { 'X-Shopify-Shop-Domain': domain }) }
    return core.run({
      body,
      options: { ...options, headers: { ...options.headers, ...store } },
      send,
      pick: pickAction,
    })
  })
  call.withResponse()
  return call
}

const sign = async (text: string, secret: string): Promise<string> => {
  const encoder = new TextEncoder()
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign'])
  const bytes = new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(text)))
  return btoa(String.fromCharCode(...bytes))
}
