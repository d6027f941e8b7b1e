import { createReferralClient } from '@referral/sdk'
import { referral } from '@referral/sdk/express'
import express from 'express'

const client = createReferralClient({
  apiKey: process.env.REFERRAL_API_KEY,
  baseUrl: process.env.REFERRAL_BASE_URL,
})

export const app = express()
app.use(referral({ client, onError: ({ message }) => console.error(`click: ${message}`) }))

app.post('/checkout', async (_request, response) => {
  // Charge the customer, then report the order.
  const order = { externalOrderId: '3001', amountCents: 10_000, currency: 'USD' }
  await client.events.conversion({ ...order, clickId: response.locals.clickId })
  response.send('Thank you.')
})
