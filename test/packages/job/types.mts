import { createReferralClient } from '@referral/sdk'
import { type CapturedDelivery, type TestServer, testServer } from '@referral/server/testing'

const server: TestServer = await testServer({ scenario: 'orders' })
createReferralClient(server)
const deliveries: CapturedDelivery[] = await server.deliveries()
console.log(deliveries, server.seeds.orders.length)
// @ts-expect-error there is no such scenario
await testServer({ scenario: 'nothing' })
