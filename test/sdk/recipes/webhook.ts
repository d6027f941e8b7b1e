import { isKnownEvent, type WebhookEvent } from '@referral/sdk'

export const handle = (event: WebhookEvent): string => {
  if (!isKnownEvent(event)) return 'unknown event: ignored'
  switch (event.event) {
    case 'commission.created':
      return `${event.data.commissionAmountCents} ${event.data.currency}`
    case 'affiliate.status_changed':
      return `${event.data.name}: ${event.data.previousStatus} → ${event.data.status}`
    default:
      return event.event
  }
}
