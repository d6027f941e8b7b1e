// Reports an order with the SDK and waits for its webhook, which the verifier checks.
import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { createReferralClient } from '@referral/sdk'
import { webhook } from '@referral/webhook-verifier/node'

const secret = 'a secret of at least 32 characters'
const deliveries = new EventEmitter()
const received = once(deliveries, 'event')
const handle = webhook({ secret }, async (event) => void deliveries.emit('event', event))
const receiver = createServer(handle).listen(Number(process.env.RECEIVER_PORT), '127.0.0.1')
await once(receiver, 'listening')

const client = createReferralClient({
  apiKey: process.env.REFERRAL_API_KEY,
  baseUrl: process.env.REFERRAL_BASE_URL,
})
await client.webhooks.create({
  url: `http://127.0.0.1:${process.env.RECEIVER_PORT}/`,
  secret,
  source: 'An installation',
})
const { commission } = await client.events.conversion({
  externalOrderId: '1001',
  amountCents: 10_000,
  discountCents: 1_000,
  couponCode: 'NISA16',
})
// Analytics are computed in the report worker, which is a file of its own.
const analytics = await client.analytics.get()
const [event] = await received
console.log(JSON.stringify({ commission, analytics, event }))
receiver.close()
receiver.closeAllConnections()
