import type { Transaction } from '../database/access.ts'
import type { StreamDeliveryRow } from '../database/tables.ts'
import { type Context, nowIso } from './context.ts'
import {
  insertDeliveries,
  insertStreamDeliveries,
  insertWebhookEvent,
  listFilters,
  listStreams,
  type NewDelivery,
} from './outbox-queries.ts'

/** What happened, as subscribers read it: the event type and its `data`. */
export interface WebhookEvent {
  event: string
  data: unknown
}

/**
 * Writes one delivery for each subscription that takes the event now, and one for each owner who listens.
 * The body is fixed here, so what is signed later is what happened. Returns whether there is something to deliver.
 */
export async function enqueue(ctx: Context, trx: Transaction, events: WebhookEvent[]): Promise<boolean> {
  if (events.length === 0) return false
  const filters = await listFilters(trx, ctx.shop.id)
  const createdAt = nowIso(ctx)
  const streams = await listStreams(trx, ctx.shop.id, createdAt)
  const deliveries: NewDelivery[] = []
  const streamed: Omit<StreamDeliveryRow, 'shopId' | 'seq'>[] = []
  const latest = new Map<string, string>()
  for (const { event, data } of events) {
    const takers = filters.filter((filter) => takes(filter.events, event))
    const listeners = streams.filter((stream) => takes(stream.events, event))
    if (takers.length + listeners.length === 0) continue
    const eventId = ctx.newId('evt')
    const body = JSON.stringify({ event, timestamp: createdAt, shop_id: ctx.shop.id, data })
    await insertWebhookEvent(trx, ctx.shop.id, { id: eventId, event, body, createdAt })
    for (const { id: subscriptionId } of takers) {
      const id = ctx.newId('dlv')
      const follows = latest.get(subscriptionId) ?? null
      deliveries.push({ id, eventId, subscriptionId, webhookId: id, follows, createdAt })
      latest.set(subscriptionId, id)
    }
    streamed.push(...listeners.map((stream) => ({ id: ctx.newId('dlv'), streamId: stream.id, eventId })))
  }
  await insertDeliveries(trx, ctx.shop.id, deliveries)
  await insertStreamDeliveries(trx, ctx.shop.id, streamed)
  return deliveries.length > 0
}

/**
 * Whether a JSON list of names takes an event; an empty one takes every event. The text is searched, not parsed: it may
 * be long, and this runs in every change. Event names need no escaping, so nothing but the name itself matches.
 */
const takes = (names: string, event: string): boolean => names === '[]' || names.includes(`"${event}"`)
