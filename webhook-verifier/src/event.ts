import { eventNames, type KnownEvent } from './events.ts'

/** An event this version of the package does not know. A later server may send one: answer 200 and leave it. */
export interface UnknownEvent {
  event: string
  /** When it happened, ISO 8601 UTC. */
  timestamp: string
  shop_id: string
  data: Record<string, unknown>
}

/** The body of a delivery (section 6.2). Narrow it with {@link isKnownEvent}, then switch on `event`. */
export type WebhookEvent = KnownEvent | UnknownEvent

export const isKnownEvent = (event: WebhookEvent): event is KnownEvent =>
  (eventNames as readonly string[]).includes(event.event)
