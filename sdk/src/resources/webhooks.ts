import type { Call } from '../call.ts'
import type { Core } from '../core.ts'
import { createWebhook, deleteWebhook, listWebhooks } from '../generated/operations.ts'
import type { ActionReply, WebhookCreate, WebhookSubscription, WebhookSubscriptionList } from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'
import { recoverRemoval } from '../recover.ts'

/** Subscriptions to webhook events. */
export const webhooks = (core: Core) => ({
  /**
   * Lists all subscriptions, the available event names and those that are currently sent.
   *
   * @example
   * const { data } = await client.webhooks.list()
   */
  list: (options?: CallOptions): Call<WebhookSubscriptionList> =>
    core.call(listWebhooks, { options, pick: (body) => body }),

  /**
   * Creates a subscription. Without `events`, it receives all of them. The secret is never returned.
   *
   * @param body `url` must be a public HTTPS address.
   * @throws {BadRequestError} `webhook_url_refused` when `url` is not a public HTTPS address.
   * @throws {ConflictError} `webhook_limit_reached`.
   *
   * @example
   * await client.webhooks.create({ url: 'https://shop.example/hooks', secret: process.env.WEBHOOK_SECRET })
   */
  create: (body: WebhookCreate, options?: WriteOptions): Call<WebhookSubscription> =>
    core.call(createWebhook, { body, options, pick: (reply) => (reply as { data: WebhookSubscription }).data }),

  /**
   * Deletes a subscription.
   *
   * @throws {NotFoundError} `webhook_not_found`.
   *
   * @example
   * await client.webhooks.delete(subscription.id)
   */
  delete: (id: string, options?: CallOptions): Call<ActionReply> =>
    core.call(deleteWebhook, {
      query: { id },
      options,
      pick: (body) => body,
      recoverLostResponse: recoverRemoval(id),
    }),

  /**
   * Sends a `test` event to every subscription that receives it, and succeeds even if there are none. `url` is only validated.
   *
   * @throws {BadRequestError} `webhook_url_refused` when `url` is not a public HTTPS address.
   *
   * @example
   * await client.webhooks.sendTest({ url: 'https://shop.example/hooks' })
   */
  sendTest: (body: Pick<WebhookCreate, 'url'>, options?: WriteOptions): Call<ActionReply> =>
    core.call(createWebhook, { query: { test: '1' }, body, options, pick: (reply) => reply as ActionReply }),
})
