import { type ConversionInput, createReferralClient, type ReferralClient } from '@referral/sdk'
import { credentials } from './credentials.ts'

/*
 * Reports a paid order from your own checkout. Safe to call again after a lost response, a crash, or a duplicate queue message: the order is recorded once.
 */

export async function reportOrder(client: ReferralClient, order: ConversionInput): Promise<string> {
  // The SDK derives the idempotency key from the order, so retries and later runs send the same key.
  const { data, attempts, idempotentReplayed } = await client.events.conversion(order).withResponse()
  const { affiliateId, amountCents } = data.commission
  const decision = affiliateId ? `${affiliateId} earns ${amountCents} cents` : 'nobody referred it'
  const notes = `${attempts === 1 ? '' : `, attempt ${attempts}`}${idempotentReplayed ? ', already recorded' : ''}`
  return `order ${order.externalOrderId}: ${decision}${notes}`
}

if (import.meta.main) {
  const client = createReferralClient(credentials())
  const order = {
    externalOrderId: process.argv[2] ?? 'headless-1001',
    occurredAt: '2026-10-28T18:42:11.000Z',
    currency: 'USD',
    amountCents: 12_000,
    discountCents: 2_000,
    couponCode: 'NISA16',
  }
  console.log(await reportOrder(client, order))
  console.log(await reportOrder(client, order))
}
