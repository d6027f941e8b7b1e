import { createReferralClient } from '@referral/sdk'
import { testServer } from '@referral/server/testing'

// A shop with an approved affiliate whose discount code is NISA16 and who earns 16%.
const server = await testServer({ scenario: 'affiliate' })
const client = createReferralClient({ apiKey: server.apiKey, baseUrl: server.baseUrl, fetch: server.fetch })

await client.webhooks.create({ url: 'https://shop.example/hooks', secret: 'a shared secret' })

// The server records the order and the connection breaks before the response: the retry gets the recorded result.
server.fail('reset', { path: '/api/v1/events' })
const order = { externalOrderId: '1001', amountCents: 10_000, currency: 'USD', couponCode: 'NISA16' }
const { data, attempts } = await client.events.conversion(order).withResponse()
console.log(data.commission.amountCents, attempts, (await client.commissions.list()).pagination.total)

const [delivery] = await server.deliveries()
console.log(delivery?.event, delivery?.url, delivery?.headers['X-Service-Signature']?.length)

server.clock.advance(31 * 24 * 60 * 60 * 1000)
console.log((await client.analytics.get()).totals.orders)

await server.close()
