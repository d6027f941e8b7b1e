import { type Call, pickAction, pickData, recoverRemoval, startCall, startUpdate } from './call.ts'
import { type RawClient, rawMethods } from './client.ts'
import { type Core, createCore } from './core.ts'
import type { ActionReply } from './models.ts'
import type { CallOptions, ClientOptions } from './options.ts'
import { listCall, type PagedCall, pickPage } from './pagination.ts'
import type { components } from './schema.ts'
import type { Query, RequestBody } from './types.ts'

type Schemas = components['schemas']

/** A page or a list of items. */
const pickReply = <T extends { data: unknown }>(reply: T): T | undefined => (reply.data ? reply : undefined)

/** API keys. A secret is shown once. */
const keys = (core: Core) => ({
  /** Lists the keys of the shop. */
  list: (options?: CallOptions): Call<Schemas['ApiKeyList']> =>
    startCall(core, { options, send: (init) => core.api.GET('/admin/v1/keys', init), pick: pickReply }),

  /**
   * Creates a key. It is not retried when its outcome is unknown.
   *
   * @param body Its label and at least one scope.
   */
  create: (body: RequestBody<'createKey'>, options?: CallOptions): Call<Schemas['ApiKeySecretReply']['data']> =>
    startCall(core, { options, body, send: (init) => core.api.POST('/admin/v1/keys', init), pick: pickData }),

  /**
   * Replaces the secret of a key.
   *
   * @throws {NotFoundError} `key_not_found`.
   */
  rotate: (id: string, options?: CallOptions): Call<Schemas['ApiKeySecretReply']['data']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/keys/{id}/rotate', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /**
   * Revokes a key.
   *
   * @throws {NotFoundError} `key_not_found`.
   */
  revoke: (id: string, options?: CallOptions): Call<ActionReply> =>
    startCall(core, {
      options,
      send: (init) => core.api.DELETE('/admin/v1/keys/{id}', { ...init, params: { path: { id } } }),
      pick: pickAction,
      recover: recoverRemoval(id),
    }),
})

/** The settings of the shop. */
const settings = (core: Core) => ({
  /** Returns the settings. */
  get: (options?: CallOptions): Call<Schemas['SettingsReply']['data']> =>
    startCall(core, { options, send: (init) => core.api.GET('/admin/v1/settings', init), pick: pickData }),

  /** Updates the given settings. */
  update: (body: RequestBody<'updateSettings'>, options?: CallOptions): Call<Schemas['SettingsReply']['data']> =>
    startUpdate(core, { options, body, send: (init) => core.api.PATCH('/admin/v1/settings', init), pick: pickData }),
})

/** Decisions about commissions. */
const commissions = (core: Core) => ({
  /** Approves a commission. @throws {ConflictError} when its status does not allow it. */
  approve: (id: string, options?: CallOptions): Call<Schemas['Commission']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/commissions/{id}/approve', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /** Rejects a commission. @throws {ConflictError} when its status does not allow it. */
  reject: (id: string, options?: CallOptions): Call<Schemas['Commission']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/commissions/{id}/reject', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /** Cancels an unpaid commission. @throws {ConflictError} when its status does not allow it. */
  cancel: (id: string, options?: CallOptions): Call<Schemas['Commission']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/commissions/{id}/cancel', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /** Reverses a paid commission. @throws {ConflictError} when its status does not allow it. */
  reverse: (id: string, options?: CallOptions): Call<Schemas['Commission']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/commissions/{id}/reverse', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),

  /** Decides a rejected commission again. @throws {ConflictError} when its status does not allow it. */
  reopen: (id: string, options?: CallOptions): Call<Schemas['Commission']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/commissions/{id}/reopen', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),
})

/** Deliveries of webhook events. */
const deliveries = (core: Core) => ({
  /** Lists deliveries, newest first. */
  list: (query?: Query<'listDeliveries'>, options?: CallOptions): PagedCall<Schemas['Delivery']> =>
    listCall(core, { query, options, send: (init) => core.api.GET('/admin/v1/deliveries', init), pick: pickPage }),
})

/** Subscriptions to webhook events. */
const webhooks = (core: Core) => ({
  /**
   * Updates the URL, the events or the secret of a subscription.
   *
   * @throws {NotFoundError} `webhook_not_found`.
   */
  update: (
    id: string,
    body: RequestBody<'updateWebhook'>,
    options?: CallOptions,
  ): Call<Schemas['WebhookReply']['data']> =>
    startUpdate(core, {
      options,
      body,
      send: (init) => core.api.PATCH('/admin/v1/webhooks/{id}', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),
})

/** The batches of a shop, as its owner manages them. */
const payouts = (core: Core) => ({
  /** Cancels an unpaid batch and releases its commissions. @throws {ConflictError} when its status does not allow it. */
  cancel: (id: string, options?: CallOptions): Call<Schemas['PayoutBatchReply']['data']> =>
    startCall(core, {
      options,
      send: (init) => core.api.POST('/admin/v1/payouts/{id}/cancel', { ...init, params: { path: { id } } }),
      pick: pickData,
    }),
})

/** How orders were decided. */
const orders = (core: Core) => ({
  /** Explains the decision of an order. @throws {NotFoundError} when the order was not reported. */
  explain: (externalOrderId: string, options?: CallOptions): Call<Schemas['ExplanationReply']['data']> =>
    startCall(core, {
      options,
      send: (init) =>
        core.api.GET('/admin/v1/orders/{externalOrderId}/explanation', {
          ...init,
          params: { path: { externalOrderId } },
        }),
      pick: pickData,
    }),
})

/** The owner API of one shop. */
export interface AdminClient extends RawClient {
  readonly keys: ReturnType<typeof keys>
  readonly settings: ReturnType<typeof settings>
  readonly commissions: ReturnType<typeof commissions>
  readonly payouts: ReturnType<typeof payouts>
  readonly orders: ReturnType<typeof orders>
  readonly deliveries: ReturnType<typeof deliveries>
  readonly webhooks: ReturnType<typeof webhooks>
}

/**
 * Creates a client for the owner API, which manages keys, settings, decisions and webhooks of one shop. Its raw methods
 * call every operation of the API description, those for store notifications included.
 *
 * @param options As for `createReferralClient`; `apiKey` is an owner token (`ro_…`).
 *
 * @example
 * const admin = createAdminClient({ apiKey: process.env.REFERRAL_OWNER_TOKEN, baseUrl: process.env.REFERRAL_BASE_URL })
 * await admin.webhooks.update(subscription.id, { events: ['commission.created'] })
 */
export const createAdminClient = (options?: ClientOptions): AdminClient => {
  const core = createCore(options)
  return {
    ...rawMethods(core),
    keys: keys(core),
    settings: settings(core),
    commissions: commissions(core),
    payouts: payouts(core),
    orders: orders(core),
    deliveries: deliveries(core),
    webhooks: webhooks(core),
  }
}
