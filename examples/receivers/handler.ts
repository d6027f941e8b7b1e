import { isKnownEvent, type WebhookEvent } from '@referral/webhook-verifier'

if (!process.env.WEBHOOK_SECRET) throw new Error('Set WEBHOOK_SECRET to the secret of the webhook subscription.')
export const secret = process.env.WEBHOOK_SECRET
export const port = Number(process.env.PORT ?? 3000)

/** Handles a verified event. All receivers in this folder call it. */
export function handleEvent(event: WebhookEvent): void {
  // Ignore events that a later server version may send.
  if (!isKnownEvent(event)) return
  if (event.event === 'commission.created')
    console.log(`${event.data.affiliateId} earns ${event.data.commissionAmountCents} ${event.data.currency}`)
}
