import { type Call, pickAction, pickReply, recoverRemoval, startCall } from '../call.ts'
import type { Core } from '../core.ts'
import type {
  ActionReply,
  WebhookCreate,
  WebhookEventList,
  WebhookEventQuery,
  WebhookSubscription,
  WebhookSubscriptionList,
} from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'

const path = '/api/v1/webhooks'

/**
 * Subscriptions to webhook events.
 *
 * @param core What `createCore` returns.
 *
 * @example
 * const core = createCore({ apiKey: process.env.REFERRAL_API_KEY, baseUrl: process.env.REFERRAL_BASE_URL })
 * const { data } = await webhooks(core).list()
 */
export const webhooks = (core: Core) => ({
  /**
   * Lists all subscriptions, the available event names and those that are currently sent.
   *
   * @param options Options of this call.
   * @throws {ForbiddenError} `scope_missing` without the scope `webhooks:read`.
   *
   * @example
   * const { data } = await client.webhooks.list()
   */
  list: (options?: CallOptions): Call<WebhookSubscriptionList> =>
    startCall(core, {
      options,
      send: (init) => core.api.GET(path, init),
      pick: pickReply<WebhookSubscriptionList>,
    }),

  /**
   * Creates a subscription. Without `events`, it receives all of them. The secret is never returned.
   *
   * @param body `url` must be a public HTTPS address.
   * @param options Options of this call, such as `idempotencyKey`.
   * @throws {BadRequestError} `webhook_url_refused` when `url` is not a public HTTPS address.
   * @throws {ConflictError} `webhook_limit_reached`.
   *
   * @example
   * await client.webhooks.create({ url: 'https://shop.example/hooks', secret: process.env.WEBHOOK_SECRET })
   */
  create: (body: WebhookCreate, options?: WriteOptions): Call<WebhookSubscription> =>
    startCall(core, {
      options,
      body,
      send: (init) => core.api.POST(path, init),
      pick: (reply): WebhookSubscription | undefined => ('data' in reply ? reply.data : undefined),
    }),

  /**
   * Deletes a subscription.
   *
   * @param id The subscription's ID.
   * @param options Options of this call.
   * @throws {NotFoundError} `webhook_not_found`.
   *
   * @example
   * await client.webhooks.delete(subscription.id)
   */
  delete: (id: string, options?: CallOptions): Call<ActionReply> =>
    startCall(core, {
      options,
      pick: pickAction,
      recover: recoverRemoval(id),
      query: { id },
      send: (init) => core.api.DELETE(path, init),
    }),

  /**
   * Sends a `test` event to every subscription that receives it, and succeeds even if there are none. `url` is only validated.
   *
   * @param body The `url` to validate.
   * @param options Options of this call, such as `idempotencyKey`.
   * @throws {BadRequestError} `webhook_url_refused` when `url` is not a public HTTPS address.
   *
   * @example
   * await client.webhooks.sendTest({ url: 'https://shop.example/hooks' })
   */
  sendTest: (body: Pick<WebhookCreate, 'url'>, options?: WriteOptions): Call<ActionReply> =>
    startCall(core, {
      options,
      query: { test: '1' },
      body,
      send: (init) => core.api.POST(path, init),
      pick: (reply) => ('ok' in reply ? pickAction(reply) : undefined),
    }),

  /**
   * Lists the shop's events, oldest first, for callers that poll. Send `next` as `after` to continue.
   *
   * @param query `extendedEvents: '1'` also lists extended events.
   * @param options Options of this call.
   * @throws {BadRequestError} `invalid_parameter` when `after` is not an ID of an event.
   *
   * @example
   * const { data, next, hasMore } = await client.webhooks.events({ after: cursor })
   */
  events: (query?: WebhookEventQuery, options?: CallOptions): Call<WebhookEventList> =>
    startCall(core, {
      options,
      query,
      send: (init) => core.api.GET('/api/v1/webhooks/events', init),
      pick: pickReply<WebhookEventList>,
    }),
})

/**
 * Returns a new webhook secret: 72 characters with 244 random bits.
 *
 * @example
 * const secret = generateSecret()
 * await client.webhooks.create({ url: 'https://shop.example/hooks', secret })
 */
export const generateSecret = (): string => crypto.randomUUID() + crypto.randomUUID()
