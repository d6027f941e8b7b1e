import { createReferralClient } from '@referral/sdk'
import { type TestServer, testServer } from '@referral/server/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { reportOrder } from '../../examples/headless-checkout.ts'

let server: TestServer
beforeEach(async () => {
  server = await testServer({ scenario: 'affiliate' })
})
afterEach(() => server.close())

test('an order is recorded once with one key after a lost response and a second report', async () => {
  const keys: (string | null)[] = []
  const newClient = () =>
    createReferralClient({
      apiKey: server.apiKey,
      baseUrl: server.baseUrl,
      fetch: server.fetch,
      onRequest: ({ headers }) => void keys.push(headers.get('Idempotency-Key')),
    })
  const order = { externalOrderId: '1001', amountCents: 12_000, discountCents: 2_000, couponCode: 'NISA16' }
  const decision = `order 1001: ${server.seeds.affiliateId} earns 1600 cents`

  server.fail('reset', { path: '/api/v1/events' })
  expect(await reportOrder(newClient(), order)).toBe(`${decision}, attempt 2, already recorded`)
  // A new client represents a restarted process.
  expect(await reportOrder(newClient(), order)).toBe(`${decision}, already recorded`)

  expect(keys).toHaveLength(3)
  expect(new Set(keys).size).toBe(1)
  expect(keys[0]).toMatch(/^order-/)
  expect((await newClient().commissions.list()).pagination.total).toBe(1)
})

test('reports an order without a referrer', async () => {
  const client = createReferralClient({ apiKey: server.apiKey, baseUrl: server.baseUrl, fetch: server.fetch })
  expect(await reportOrder(client, { externalOrderId: '1002', amountCents: 500 })).toBe(
    'order 1002: nobody referred it',
  )
})
