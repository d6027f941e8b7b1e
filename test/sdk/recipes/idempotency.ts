import { createReferralClient } from '@referral/sdk'

const client = createReferralClient({
  apiKey: process.env.REFERRAL_API_KEY,
  baseUrl: process.env.REFERRAL_BASE_URL,
})

const orders = [
  { externalOrderId: '2001', amountCents: 4_000, currency: 'USD' },
  { externalOrderId: '2002', amountCents: 6_000, currency: 'USD' },
]

const run = async (): Promise<string> => {
  const lines: string[] = []
  for (const order of orders) {
    const { idempotentReplayed } = await client.events.conversion(order).withResponse()
    lines.push(`${order.externalOrderId} ${idempotentReplayed ? 'replayed' : 'new'}`)
  }
  return lines.join(', ')
}
console.log(await run())
console.log(await run())

// Other POST requests get a random key. Pass your own to repeat a request after a restart.
const period = { periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' }
const { error } = await client.payouts.create(period, { idempotencyKey: 'payout-2026-10' }).safe()
console.log(error?.code)
