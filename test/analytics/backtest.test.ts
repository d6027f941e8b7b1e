import { expect } from 'vitest'
import { Till } from '../commissions/money.ts'
import { snapshot } from '../contract/fixture.ts'
import { admin, staffOf } from '../support/owner.ts'
import { testServer } from '../support/server.ts'
import { convert, expectOk } from '../support/shop.ts'
import { type Owner, test } from '../support/test.ts'

let nisa: { id: string; campaignId: string }
let ada: { id: string; campaignId: string }
test.beforeAll(async ({ server }) => {
  const till = new Till(server)
  nisa = await till.affiliate('NISA16')
  ada = await till.affiliate('ADA16', { cookieDurationDays: 10 })
  const click = (clickId: string, occurredAt: string) =>
    expectOk(
      server.request('POST', '/api/v1/events', { body: { type: 'click', affiliateId: ada.id, clickId, occurredAt } }),
    )
  await click('near', '2026-10-15T00:00:00Z')
  await click('far', '2026-10-01T00:00:00Z')
  // Both; a coupon alone; an expired click alone; nothing; and one of another currency and month.
  await till.order({ clickId: 'near', externalOrderId: 'both', occurredAt: '2026-10-20T00:00:00Z' })
  await till.order({ externalOrderId: 'coupon', occurredAt: '2026-10-20T01:00:00Z' })
  await till.order({
    couponCode: undefined,
    clickId: 'far',
    externalOrderId: 'expired',
    occurredAt: '2026-10-20T02:00:00Z',
  })
  await till.order({ couponCode: undefined, externalOrderId: 'none', occurredAt: '2026-10-20T03:00:00Z' })
  await till.order({ currency: 'EUR', externalOrderId: 'euro', occurredAt: '2026-09-20T00:00:00Z' })
})

const run = (owner: Owner, body: object) => expectOk(owner('POST', '/backtests', body))
const line = (affiliateId: string, given: object) => expect.objectContaining({ affiliateId, ...given })

test('200 another precedence: gains and losses by affiliate, and nothing is written', async ({ server, owner }) => {
  const before = snapshot(server, ['audits'])
  const report = await run(owner, { attributionPrecedence: 'link-first' })
  expect(report).toMatchObject({ orders: 5, changed: 1, truncated: false })
  expect(report.affiliates).toEqual([
    line(ada.id, { currentOrders: 0, proposedOrders: 1, currentCents: 0, proposedCents: 1440, deltaCents: 1440 }),
    line(nisa.id, { currency: 'USD', currentOrders: 2, proposedOrders: 1, deltaCents: -1440 }),
  ])
  expect(report.totals).toEqual([
    { currency: 'EUR', currentCents: 1440, proposedCents: 1440, deltaCents: 0 },
    { currency: 'USD', currentCents: 2880, proposedCents: 2880, deltaCents: 0 },
  ])
  expect(report.examples).toEqual([
    {
      orderId: 'api:both',
      currency: 'USD',
      current: {
        affiliateId: nisa.id,
        reasonCode: 'COUPON_MATCH',
        restrictionReasonCode: null,
        amountCents: 1440,
        currency: 'USD',
      },
      proposed: {
        affiliateId: ada.id,
        reasonCode: 'CLICK_MATCH',
        restrictionReasonCode: null,
        amountCents: 1440,
        currency: 'USD',
      },
    },
  ])
  expect(snapshot(server, ['audits'])).toBe(before)
})

test('200 a longer window of one program', async ({ owner }) => {
  const report = await run(owner, { programId: ada.campaignId, cookieDurationDays: 30 })
  expect(report).toMatchObject({ changed: 1, affiliates: [line(ada.id, { proposedOrders: 1, deltaCents: 1440 })] })
})

test('200 another rate, for one program or for all, and in a period', async ({ owner }) => {
  const both = await run(owner, { commissionPercent: 20 })
  expect(both).toMatchObject({ orders: 5, changed: 3 })
  expect(both.affiliates).toContainEqual(
    line(nisa.id, { currency: 'USD', currentCents: 2880, proposedCents: 3600, deltaCents: 720 }),
  )
  const october = await run(owner, { commissionPercent: 20, from: '2026-10-01', to: '2026-10-31' })
  expect([october.orders, october.totals.length]).toEqual([4, 1])
  const flat = await run(owner, {
    programId: nisa.campaignId,
    commissionType: 'FLAT_PER_ORDER',
    commissionPercent: 5,
    from: '2026-10-20T01:00:00Z',
    to: '2026-10-20T01:00:00Z',
  })
  expect(flat).toMatchObject({ orders: 1, affiliates: [line(nisa.id, { proposedCents: 500 })] })
})

test('200 the current settings show no difference', async ({ owner }) => {
  const same = {
    attributionPrecedence: ['COUPON', 'DIRECT_LINK', 'CONNECTED_CUSTOMER', 'CONNECTED_PRODUCT'],
    clickTouch: 'LAST',
  }
  expect(await run(owner, same)).toMatchObject({ orders: 5, changed: 0, affiliates: [], examples: [] })
})

test('200 more orders than one query reads', async () => {
  const many = await testServer()
  const till = new Till(many)
  await till.affiliate()
  await Promise.all(
    Array.from({ length: 250 }, (_, i) =>
      expectOk(
        convert(many, {
          externalOrderId: `n-${i}`,
          amountCents: 1000,
          couponCode: 'NISA16',
          occurredAt: `2026-10-${String((i % 5) + 1).padStart(2, '0')}`,
        }),
      ),
    ),
  )
  const report = await expectOk(admin(many, 'POST', '/backtests', { commissionPercent: 20 }))
  expect(report).toMatchObject({ orders: 250, changed: 250, totals: [{ deltaCents: 250 * 40 }] })
  expect(report.examples).toHaveLength(50)
  await many.close()
})

test('200 for STAFF', async ({ server, owner }) => {
  const key = await staffOf(server)
  expect((await owner('POST', '/backtests', { clickTouch: 'FIRST' }, { key })).status).toBe(200)
})

test('200 other terms: what the first orders of affiliates, and cheap orders, would have earned', async ({ owner }) => {
  const rules = [
    { when: { affiliateOrders: { to: 0, period: 'ALL_TIME' } }, commissionPercent: 30 },
    { when: { orderSubtotalCents: { to: 1 } }, commissionPercent: 50 },
    { when: { customerOrder: { from: 1 } }, commissionPercent: null },
  ]
  const report = await run(owner, { programId: nisa.campaignId, rules })
  expect(report).toMatchObject({ orders: 5, changed: 3 })
  // Her first order, in EUR; the others are of customers whom the last rule pays nothing for.
  expect(report.totals).toEqual([
    { currency: 'EUR', currentCents: 1440, proposedCents: 2700, deltaCents: 1260 },
    { currency: 'USD', currentCents: 2880, proposedCents: 0, deltaCents: -2880 },
  ])
  expect(report.examples.map(({ proposed }: { proposed: object }) => proposed)).toContainEqual(
    expect.objectContaining({ restrictionReasonCode: 'TERMS_NOT_MET', amountCents: 0 }),
  )
  const { status, headers } = await owner('POST', '/backtests', { rules: [{ when: {}, commissionPercent: 101 }] })
  expect([status, headers.get('X-Error-Code')]).toEqual([400, 'commission_percent_invalid'])
})

test('200 terms by customer: orders of programs without terms are counted again', async ({ server }) => {
  const till = new Till(server, await server.createShop())
  await till.affiliate()
  for (const occurredAt of ['2025-01-31T00:00:00Z', '2025-12-31T00:00:00Z', '2026-01-31T00:00:00Z'])
    await till.order({ customerId: 'c', occurredAt })
  const reply = await till.admin('POST', '/backtests', {
    rules: [{ when: { customerMonth: { from: 12 } }, commissionPercent: null }],
  })
  expect(reply.body.data).toMatchObject({
    orders: 3,
    changed: 1,
    totals: [{ currentCents: 4320, proposedCents: 2880 }],
  })
})
