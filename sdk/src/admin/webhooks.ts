import { type Call, pickData, startCall, startUpdate } from '../call.ts'
import type { Core } from '../core.ts'
import type { CallOptions } from '../options.ts'
import { listCall, type PagedCall, pickPage } from '../pagination.ts'
import type { components } from '../schema.ts'
import type { Query, RequestBody } from '../types.ts'

type Schemas = components['schemas']

/** Subscriptions to webhook events. */
export const webhooks = (core: Core) => ({
  /**
   * Updates a subscription's given fields. After a change of the secret, deliveries are signed with both for 24
   * hours.
   *
   * @param id The subscription's ID.
   * @param body The fields to change. `status: 'enabled'` enables a disabled subscription.
   * @param options Options of this call.
   * @throws {BadRequestError} `webhook_url_refused` when `url` is not a public HTTPS address.
   * @throws {NotFoundError} `webhook_not_found`.
   *
   * @example
   * await admin.webhooks.update(subscription.id, { events: ['commission.created'] })
   */
  update: (
    id: string,
    body: RequestBody<'updateWebhook'>,
    options?: CallOptions,
  ): Call<Schemas['WebhookSubscription']> =>
    startUpdate(core, {
      options,
      body,
      send: (init) => core.api.PATCH('/admin/v1/webhooks/{id}', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /**
   * Sends up to 500 deliveries of a period again, by default those that failed. Repeat the call while `remaining` is
   * above 0.
   *
   * @param id The subscription's ID.
   * @param body The period, the status and the event. `dryRun` only counts.
   * @param options Options of this call.
   * @throws {BadRequestError} `period_invalid` when `to` is before `from`.
   * @throws {NotFoundError} `webhook_not_found`.
   * @throws {ConflictError} `webhook_disabled`.
   *
   * @example
   * const { queued, remaining } = await admin.webhooks.redeliver(subscription.id, { from: '2026-11-01' })
   */
  redeliver: (
    id: string,
    body: RequestBody<'redeliverMany'>,
    options?: CallOptions,
  ): Call<Schemas['RedeliveryReply']['data']> =>
    startCall(core, {
      options,
      body,
      send: (init) => core.api.POST('/admin/v1/webhooks/{id}/redeliver', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),
})

/** Deliveries of webhook events. */
export const deliveries = (core: Core) => ({
  /**
   * Lists deliveries, newest first.
   *
   * @param query Filters and the page.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_parameter`.
   *
   * @example
   * const { data } = await admin.deliveries.list({ status: 'FAILED' })
   */
  list: (query?: Query<'listDeliveries'>, options?: CallOptions): PagedCall<Schemas['Delivery']> =>
    listCall(core, { options, query, send: (init) => core.api.GET('/admin/v1/deliveries', init), pick: pickPage }),

  /**
   * Sends a finished delivery again, with the same bytes and `webhook-id`. It is not sent again when its outcome is
   * unknown.
   *
   * @param id The delivery's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `delivery_not_found`, or `webhook_not_found` when its subscription was deleted.
   * @throws {ConflictError} `delivery_not_finished` or `webhook_disabled`.
   *
   * @example
   * await admin.deliveries.redeliver(delivery.id)
   */
  redeliver: (id: string, options?: CallOptions): Call<Schemas['Delivery']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/deliveries/{id}/redeliver', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),
})
