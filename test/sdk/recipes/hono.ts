import { createReferralClient } from '@referral/sdk'
import { referral } from '@referral/sdk/hono'
import { Hono } from 'hono'

const client = createReferralClient({
  apiKey: process.env.REFERRAL_API_KEY,
  baseUrl: process.env.REFERRAL_BASE_URL,
})

export const app = new Hono<{ Variables: { clickId: string | undefined } }>()
app.use(referral({ client }))

app.post('/checkout', async (c) => {
  const order = { externalOrderId: '3003', amountCents: 10_000, currency: 'USD' }
  await client.events.conversion({ ...order, clickId: c.get('clickId') })
  return c.text('Thank you.')
})
