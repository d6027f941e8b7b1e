import { isKnownEvent, type WebhookEvent } from '@referral/webhook-verifier'

export const handle = async (event: WebhookEvent) => {
  // Ignore events that a later server version may send.
  if (!isKnownEvent(event)) return
  switch (event.event) {
    case 'commission.created':
      console.log(event.data.affiliateId, 'earns', event.data.commissionAmountCents, event.data.currency)
      break
    case 'affiliate.approved':
      console.log('welcome', event.data.email)
  }
}
