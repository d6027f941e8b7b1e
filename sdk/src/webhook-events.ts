import { eventNames } from './generated/event-names.ts'
import type { webhooks } from './schema.ts'
import type { Open } from './types.ts'

type Described = webhooks[keyof webhooks]['post']['requestBody']['content']['application/json']

// Distributes over the union; the name stays a literal, so that it can be switched on.
type Typed<Event> = Event extends { event: infer Name; data: infer Data }
  ? { event: Name; timestamp: string; shop_id: string; data: Open<Data> }
  : never

/** A webhook event this version describes (section 6). Switch on `event`. */
export type KnownEvent = Typed<Described>

/** One that a later server may send: answer 200 and leave it. */
export interface UnknownEvent {
  event: string & {}
  /** When it happened, ISO 8601 UTC. */
  timestamp: string
  shop_id: string
  data: Record<string, unknown>
}

/** The body of a delivery. Verify its signature before you believe it. */
export type WebhookEvent = KnownEvent | UnknownEvent

/** Narrows an event to those whose data is described. */
export const isKnownEvent = (event: WebhookEvent): event is KnownEvent =>
  (eventNames as readonly string[]).includes(event.event)
