import { eventNames, type KnownEvent } from './event-types.ts'

/** An event of a later server version. Respond with 200 and ignore it. */
export interface UnknownEvent {
  event: string
  /** When the event happened, ISO 8601 UTC. */
  timestamp: string
  shop_id: string
  data: Record<string, unknown>
}

/** A delivery's body. Narrow it with {@link isKnownEvent} and a `switch` over `event`. */
export type WebhookEvent = KnownEvent | UnknownEvent

/**
 * Returns whether this version has types for the event, and narrows it.
 *
 * @example
 * if (isKnownEvent(event) && event.event === 'commission.created') console.log(event.data.commissionAmountCents)
 */
export const isKnownEvent = (event: WebhookEvent): event is KnownEvent =>
  (eventNames as readonly string[]).includes(event.event)
