import { eventNames } from './generated/event-names.ts'
import type { webhooks } from './schema.ts'
import type { Open } from './types.ts'

type WebhookBody = webhooks[keyof webhooks]['post']['requestBody']['content']['application/json']

// Distributes over the union and keeps the event name a literal, so that a switch can narrow it.
type Typed<Event> = Event extends { event: infer Name; data: infer Data }
  ? { event: Name; timestamp: string; shop_id: string; data: Open<Data> }
  : never

/** A webhook event that this version has types for. Narrow it with a `switch` over `event`. */
export type KnownEvent = Typed<WebhookBody>

/** An event of a later server version. Respond with 200 and ignore it. */
export interface UnknownEvent {
  event: string & {}
  /** When the event happened, ISO 8601 UTC. */
  timestamp: string
  shop_id: string
  data: Record<string, unknown>
}

/** The body of a webhook delivery. Verify its signature before you use it. */
export type WebhookEvent = KnownEvent | UnknownEvent

/**
 * Returns whether this version has types for the event, and narrows it.
 *
 * @param event A delivery's body.
 *
 * @example
 * if (isKnownEvent(event) && event.event === 'commission.created') console.log(event.data.commissionAmountCents)
 */
export const isKnownEvent = (event: WebhookEvent): event is KnownEvent =>
  (eventNames as readonly string[]).includes(event.event)
