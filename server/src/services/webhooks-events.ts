/** The events the server sends (section 6.1); `test` is sent too, but is no name to subscribe by. */
export const emittedEvents = [
  'affiliate.approved',
  'affiliate.rejected',
  'affiliate.status_changed',
  'commission.created',
] as const

/** The names offered to filter on: those that are sent, and those reserved for later (section 6.1). */
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
