import { isKnownEvent, type WebhookEvent } from '@referral/webhook-verifier'

if (!process.env.WEBHOOK_SECRET) throw new Error('Set WEBHOOK_SECRET to the secret of the subscription.')
export const secret = process.env.WEBHOOK_SECRET
export const port = Number(process.env.PORT ?? 3000)

/** What an event means to the shop; every receiver beside this file calls it. */
export function work(event: WebhookEvent): void {
  // A later service may send events this version does not know.
  if (!isKnownEvent(event)) return
  if (event.event === 'commission.created')
    console.log(`${event.data.affiliateId} earns ${event.data.commissionAmountCents} ${event.data.currency}`)
}
