import { createReferralClient } from '@referral/sdk'
import { testServer } from '@referral/server/testing'
import { expect, test } from 'vitest'

test('reports are computed in a thread of their own', async () => {
  const server = await testServer({ scenario: 'orders' })
  const { apiKey, baseUrl, fetch } = server
  const { totals } = await createReferralClient({ apiKey, baseUrl, fetch }).analytics.get()
  expect(totals.orders).toBe(server.seeds.orders.length)
  await server.close()
})
