import { describe, expect } from 'vitest'
import { updateRows } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { OCTOBER } from './rows.ts'

/** The largest amount that one order can earn: the highest flat rate for each of a million pieces. */
const LARGEST = 2_147_483_647 * 1_000_000

let affiliates: { id: string }[]
test.beforeAll(async ({ server }) => {
  const program = { commissionType: 'FLAT_PER_ITEM', commissionPercent: 21_474_836.47 }
  const { program: made, affiliate } = await withAffiliate(server, { program })
  affiliates = [affiliate, await newAffiliate(server, { campaignId: made.id, code: 'SECND' })]
})

let orders = 0
const order = (server: TestServer, couponCode: string, at: string, amountCents = 100) =>
  expectOk(
    convert(server, {
      externalOrderId: `large-${++orders}`,
      amountCents,
      couponCode,
      lineItems: [{ quantity: 1_000_000 }],
      occurredAt: at,
    }),
  )

/** Three orders of each affiliate in October: together above 2^53, one affiliate's alone below. */
describe('commissions above the largest exact total', () => {
  test.beforeAll(async ({ server }) => {
    for (let i = 0; i < 3; i++)
      for (const code of ['NISA16', 'SECND']) await order(server, code, `2026-10-1${i}T00:00:00.000Z`)
  })

  test.for([false, true])('409 for a batch, dryRun %s, and nothing is claimed', async (dryRun, { server, client }) => {
    const reply = await server.request('POST', '/api/v1/payouts', { body: { ...OCTOBER, dryRun } })
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([409, 'total_too_large'])
    const { data } = await client.commissions.list({ status: 'PAYABLE' })
    expect(data).toEqual([])
  })

  test('409 for analytics, and exact sums for a shorter period', async ({ server }) => {
    const analytics = (to: string) => server.request('GET', `/api/v1/analytics?from=2026-10-01&to=${to}`)
    const reply = await analytics('2026-10-31')
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([409, 'total_too_large'])
    expect((await expectOk(analytics('2026-10-11'))).totals.commissionCents).toBe(4 * LARGEST)
  })

  test('409 for a backtest', async ({ owner }) => {
    const reply = await owner('POST', '/backtests', { clickTouch: 'FIRST' })
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([409, 'total_too_large'])
    const bounds = { from: '2026-10-10', to: '2026-10-10' }
    const shorter = await expectOk(owner('POST', '/backtests', { clickTouch: 'FIRST', ...bounds }))
    expect(shorter.totals).toMatchObject([{ currentCents: 2 * LARGEST, deltaCents: 0 }])
  })

  test('one affiliate at a time is paid exactly', async ({ client }) => {
    for (const { id } of affiliates) {
      const batch = await client.payouts.create({ ...OCTOBER, affiliateIds: [id] })
      expect(batch.totals.netPayableCents).toBe(3 * LARGEST)
      await client.payouts.pay(batch.id, { expectedTotalCents: 3 * LARGEST })
    }
  })
})

test('409 for sums that exceed the integers of the database', async ({ server }) => {
  const { key, shopId } = await server.createShop()
  const { affiliate } = await withAffiliate(server, { key, code: 'VAST16' })
  const at = '2026-10-20T00:00:00.000Z'
  for (const id of ['a', 'b'])
    await expectOk(
      convert(server, { externalOrderId: id, amountCents: 1, couponCode: 'VAST16', occurredAt: at }, { key }),
    )
  // Sums are stored by the currency of the order, and hold one of these commissions, not both.
  updateRows(server, 'commissions', { orderCurrency: 'EUR' }, { shopId, orderId: 'api:b' })
  // Above 2^63; orders would have to be 4,300.
  // The driver of SQLite takes an integer of this size only as a BigInt.
  updateRows(server, 'commissions', { commissionAmountCents: 9_000_000_000_000_000_000n as never }, { shopId })
  const body = { ...OCTOBER, affiliateIds: [affiliate.id] }
  const reply = await server.request('POST', '/api/v1/payouts', { key, body })
  expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([409, 'total_too_large'])
})
