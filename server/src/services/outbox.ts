import { type Context, nowIso } from '../context.ts'
import type { Trx } from '../db/database.ts'
import { listSubscriptions } from '../repositories/subscriptions.ts'
import { insertDelivery, insertWebhookEvent } from '../repositories/webhook-events.ts'

/** What happened, as subscribers read it (section 6): the event type and its `data`. */
export interface WebhookEvent {
  event: string
  data: unknown
}

/**
 * Writes one delivery for each subscription that takes the event now. The body is fixed here, so what is signed later is
 * what happened. Answers whether there is something to deliver.
 */
export async function enqueue(ctx: Context, trx: Trx, events: WebhookEvent[]): Promise<boolean> {
  if (events.length === 0) return false
  const subscriptions = await listSubscriptions(trx, ctx.shop.id)
  let enqueued = false
  for (const { event, data } of events) {
    const takers = subscriptions.filter((subscription) => takes(subscription.events, event))
    if (takers.length === 0) continue
    const createdAt = nowIso(ctx)
    const eventId = ctx.newId('evt')
    const body = JSON.stringify({ event, timestamp: createdAt, shop_id: ctx.shop.id, data })
    await insertWebhookEvent(trx, ctx.shop.id, { id: eventId, event, body, createdAt })
    for (const { id: subscriptionId } of takers) {
      const id = ctx.newId('dlv')
      await insertDelivery(trx, ctx.shop.id, { id, eventId, subscriptionId, webhookId: id, createdAt })
    }
    enqueued = true
  }
  return enqueued
}

/** A subscription without names takes every event. */
function takes(events: string, event: string): boolean {
  const names: string[] = JSON.parse(events)
  return names.length === 0 || names.includes(event)
}
