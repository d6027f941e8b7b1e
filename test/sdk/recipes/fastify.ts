import { createReferralClient } from '@referral/sdk'
import { type FastifyRequest, referral } from '@referral/sdk/fastify'
import fastify from 'fastify'

const client = createReferralClient({
  apiKey: process.env.REFERRAL_API_KEY,
  baseUrl: process.env.REFERRAL_BASE_URL,
})

export const app = fastify()
app.decorateRequest('clickId')
app.addHook('onRequest', referral({ client }))

app.post('/checkout', async (request: FastifyRequest) => {
  const order = { externalOrderId: '3002', amountCents: 10_000, currency: 'USD' }
  await client.events.conversion({ ...order, clickId: request.clickId })
  return 'Thank you.'
})
