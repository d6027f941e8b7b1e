import { describe, expect } from 'vitest'
import { admin } from '../support/owner.ts'
import type { TestServer } from '../support/server.ts'
import { convert } from '../support/shop.ts'
import { test } from '../support/test.ts'

const report = (server: TestServer, currency: string) =>
  convert(server, { externalOrderId: `o-${currency}`, amountCents: 1000, currency })
const DOORS: Record<string, (server: TestServer, currency: string) => ReturnType<typeof report>> = {
  'a conversion': report,
  'a refund': (server, currency) =>
    server.request('POST', '/api/v1/refunds', {
      body: { externalOrderId: 'o-1', externalRefundId: 'r-1', amountCents: 1, currency },
    }),
  analytics: (server, currency) => server.request('GET', `/api/v1/analytics?currency=${currency}`),
  "the shop's currency": (server, currency) => admin(server, 'PATCH', '/settings', { currency }),
  'a minimum for a batch': (server, currency) =>
    admin(server, 'PATCH', '/settings', { minimumPayoutCentsByCurrency: { [currency]: 100 } }),
  'a minimum for an affiliate': (server, currency) =>
    admin(server, 'PATCH', '/settings', { minimumAffiliatePayoutCentsByCurrency: { [currency]: 100 } }),
}

describe.for(Object.entries(DOORS))('%s', ([, send]) => {
  test.for(['UDS', 'ZZZ', 'XAU', 'usd', 'US'])('rejects %s, which is no currency', async (currency, { server }) => {
    const reply = await send(server, currency)
    expect([reply.status, reply.body.error]).toEqual([400, expect.stringContaining('ISO 4217')])
  })

  test.for(['USD', 'JPY', 'KWD', 'BGN'])('accepts %s', async (currency, { server }) => {
    expect((await send(server, currency)).status).toBeLessThan(300)
  })
})
