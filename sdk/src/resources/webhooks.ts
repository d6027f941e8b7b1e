import type { Call } from '../call.ts'
import type { Core } from '../core.ts'
import { removed } from '../echo.ts'
import { createWebhook, deleteWebhook, listWebhooks } from '../generated/operations.ts'
import type { ActionReply, WebhookCreate, WebhookSubscription, WebhookSubscriptionList } from '../models.ts'
import type { CallOptions, WriteOptions } from '../options.ts'

/** Subscriptions to events (section 4.8). */
export const webhooks = (core: Core) => ({
  /** All subscriptions, the event names there are and those that are sent today. */
  list: (options?: CallOptions): Call<WebhookSubscriptionList> =>
    core.call(listWebhooks, { options, pick: (reply) => reply }),

  /** `url` must be public HTTPS. No `events`, or an empty list, means all. The secret is never shown again. */
  create: (body: WebhookCreate, options?: WriteOptions): Call<WebhookSubscription> =>
    core.call(createWebhook, { body, options, pick: (reply) => (reply as { data: WebhookSubscription }).data }),

  /** Removes a subscription. */
  delete: (id: string, options?: CallOptions): Call<ActionReply> =>
    core.call(deleteWebhook, { query: { id }, options, pick: (reply) => reply, echo: removed(id) }),

  /**
   * Sends a `test` event to the subscriptions that take it, not to `url`, which is only checked.
   * Succeeds also when none takes it.
   */
  sendTest: (body: Pick<WebhookCreate, 'url'>, options?: WriteOptions): Call<ActionReply> =>
    core.call(createWebhook, { query: { test: '1' }, body, options, pick: (reply) => reply as ActionReply }),
})
