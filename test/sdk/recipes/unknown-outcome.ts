import { createReferralClient, UnknownOutcomeError } from '@referral/sdk'

const client = createReferralClient({
  apiKey: process.env.REFERRAL_API_KEY,
  baseUrl: process.env.REFERRAL_BASE_URL,
  maxRetries: 4,
  onRetry: ({ method, status, delayMs }) => console.log(`${method} ${status ?? 'no response'}`, delayMs > 0),
})

const order = { externalOrderId: '1002', amountCents: 5_000, currency: 'USD' }
try {
  await client.events.conversion(order)
} catch (error) {
  if (!(error instanceof UnknownOutcomeError)) throw error
  // Later, when the server is reachable again: sends the same request with the same key.
  console.log(await error.reconcile())
}
