export interface SubscriptionRow {
  id: string
  shopId: string
  url: string
  events: string
  source: string
  /** Encrypted. */
  secret: string | null
  /** The previous secret, sealed. Until `previousSecretUntil`, deliveries are signed with it as well. */
  previousSecret: string | null
  previousSecretUntil: string | null
  /** How many of its deliveries may be in flight: 2 at first, 16 after a complete response, 1 after any other outcome. */
  maxInFlight: number
  retryPolicy: 'none' | 'standard'
  extendedEvents: 0 | 1
  /** When the first delivery after the last successful one failed. Null with the policy `none`. */
  failingSince: string | null
  /** When the subscription was disabled because its receiver returned 410 or failed for too long. */
  disabledAt: string | null
  disabledReason: 'gone' | 'failing' | null
  createdAt: string
  updatedAt: string
}

export interface WebhookEventRow {
  /** Ascending within a shop, in the order of its changes. */
  id: string
  shopId: string
  event: string
  /** The exact JSON text that is sent and signed. */
  body: string
  /** The span of the request that caused it, as a W3C header. */
  traceparent: string | null
  createdAt: string
  /** When a person was erased from the body, which is then no longer what was sent. */
  erasedAt: string | null
}

export interface DeliveryRow {
  id: string
  shopId: string
  eventId: string
  subscriptionId: string
  /** The `webhook-id` header. A redelivery keeps it. */
  webhookId: string
  /** The delivery that must finish before this one is sent, so that one change's events arrive in order. */
  follows: string | null
  status: 'PENDING' | 'RETRYING' | 'SENT' | 'FAILED'
  /** The last attempt's diagnostic code. */
  code: string | null
  httpStatus: number | null
  durationMs: number | null
  finishedAt: string | null
  /** How many attempts have ended. */
  attempts: number
  /** When a `RETRYING` delivery is due, in the shop's time. */
  nextAttemptAt: string | null
  /** The process that is sending it, and until when no other process may send it. */
  claimedBy: string | null
  claimedUntil: string | null
  createdAt: string
}
