/** Events that every subscription can receive. `test` is sent as well, but cannot be selected by name. */
export const emittedEvents = [
  'affiliate.approved',
  'affiliate.rejected',
  'affiliate.status_changed',
  'commission.created',
] as const

/** Names offered for filters: events that are sent, and names reserved for later. */
export const availableEvents = [
  ...emittedEvents,
  'affiliate.created',
  'commission.approved',
  'commission.paid',
  'commission.reversed',
  'payout.completed',
  'payout.failed',
  'registration.submitted',
  'chat.message_received',
  'ticket.created',
  'milestone.reached',
] as const

/** Events that only subscriptions with `extendedEvents` receive. */
export const extendedEvents = [
  'customer.bound',
  'commission.approved',
  'commission.rejected',
  'commission.refunded',
  'commission.reversed',
  'commission.paid',
  'payout.created',
  'payout.paid',
  'payout.failed',
] as const

const extended: ReadonlySet<string> = new Set(extendedEvents)
export const isExtended = (event: string): boolean => extended.has(event)
