import { type ConversionInput, createReferralClient, type ReferralClient } from '@referral/sdk'
import { credentials } from './credentials.ts'

/*
 * What a checkout of your own calls when an order is paid, and may call again: after a lost answer, a crash, a queue
 * that delivers twice. The order counts once.
 */

export async function reportOrder(client: ReferralClient, order: ConversionInput): Promise<string> {
  // The SDK makes the idempotency key from the order itself, so its own retries and a later run send the same one.
  const { data, attempts, idempotentReplayed } = await client.events.conversion(order).withResponse()
  const { affiliateId, amountCents } = data.commission
  const decision = affiliateId ? `${affiliateId} earns ${amountCents} cents` : 'nobody referred it'
  const notes = `${attempts === 1 ? '' : `, attempt ${attempts}`}${idempotentReplayed ? ', known already' : ''}`
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
