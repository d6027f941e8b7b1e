// A flat rate is money of the shop's currency; a percentage is money of the order's.
import fc from 'fast-check'
import { expect } from 'vitest'
import type { TestServer, TestShop } from '../support/server.ts'
import { convert, expectOk, newAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

// A USD shop with 5.50 per order, 2.00 per item of product 7, and 16% of everything in another program.
let shop: TestShop
let programs: Record<'flat' | 'percent' | 'mixed', string>
const owner = () => ({ Authorization: `Bearer ${shop.ownerToken}` })
const call = (server: TestServer, method: string, path: string, body?: object) =>
  server.request(method, path, { key: shop.key, ...(body && { body }) })
const ownerCall = (server: TestServer, method: string, path: string, body?: object) =>
  server.request(method, path, { key: null, headers: owner(), ...(body && { body }) })

test.beforeEach(async ({ server }) => {
  shop = await server.createShop()
  const { key } = shop
  const program = (body: object) =>
    expectOk(call(server, 'POST', '/api/v1/programs', { autoApproveOrder: true, status: 'PUBLISH', ...body }))
  const flat = await program({ name: 'Flat', commissionType: 'FLAT_PER_ORDER', commissionPercent: 5.5 })
  const percent = await program({ name: 'Percent', commissionPercent: 16 })
  const mixed = await program({ name: 'Mixed', commissionPercent: 10 })
  await expectOk(
    ownerCall(server, 'POST', '/admin/v1/product-rules', {
      programId: mixed.id,
      kind: 'product',
      value: '7',
      commissionType: 'FLAT_PER_ITEM',
      commissionPercent: 2,
    }),
  )
  programs = { flat: flat.id, percent: percent.id, mixed: mixed.id }
  await newAffiliate(server, { key, campaignId: flat.id, code: 'FLAT' })
  await newAffiliate(server, { key, campaignId: percent.id, code: 'PERCENT' })
  await newAffiliate(server, { key, campaignId: mixed.id, code: 'MIXED' })
})

let orders = 0
const order = (server: TestServer, couponCode: string, currency: string, given: object = {}) =>
  expectOk(
    convert(
      server,
      {
        externalOrderId: `o-${++orders}`,
        amountCents: 10_000,
        couponCode,
        currency,
        occurredAt: '2026-10-20T12:00:00Z',
        ...given,
      },
      { key: shop.key },
    ),
  )
const commission = async (server: TestServer, id: string) =>
  (await call(server, 'GET', '/api/v1/commissions?limit=100')).body.data.find((row: { id: string }) => row.id === id)
const OCTOBER = { periodStart: '2026-10-01', periodEnd: '2026-10-31T23:59:59.999Z' }

test('flat and percentage on one order in another currency: the flat part earns nothing, with a reason', async ({
  server,
}) => {
  const lineItems = [
    { productId: '7', quantity: 3, priceCents: 1000 },
    { productId: '8', quantity: 1, priceCents: 7000 },
  ]
  const foreign = await order(server, 'MIXED', 'EUR', { lineItems })
  expect(await commission(server, foreign.commission.id)).toMatchObject({
    currency: 'EUR',
    orderCurrency: 'EUR',
    commissionAmountCents: 700,
  })
  const { body } = await ownerCall(server, 'GET', `/admin/v1/orders/o-${orders}/explanation`)
  expect(body.data.decision).toMatchObject({
    currency: 'EUR',
    groups: [
      { commissionType: 'PERCENT_OF_SALE', amountCents: 700, unpaidReasonCode: null },
      { commissionType: 'FLAT_PER_ITEM', amountCents: 0, unpaidReasonCode: 'CURRENCY_MISMATCH' },
    ],
  })
  expect(body.data.arithmetic.map(({ text }: { text: string }) => text)).toContain(
    'The flat rate of 2.00 USD cannot be added to percentages of an order in EUR, so it earns nothing',
  )
  expect(body.data.replay.identical).toBe(true)

  const own = await order(server, 'MIXED', 'USD', { lineItems })
  expect((await commission(server, own.commission.id)).commissionAmountCents).toBe(700 + 600)
  // Only the flat product: nothing needs adding.
  const alone = await order(server, 'MIXED', 'EUR', { amountCents: undefined, lineItems: [lineItems[0]] })
  expect(await commission(server, alone.commission.id)).toMatchObject({
    currency: 'USD',
    orderCurrency: 'EUR',
    commissionAmountCents: 600,
  })
})

test('a refund of the flat group that earned nothing takes nothing back', async ({ server }) => {
  const lineItems = [
    { productId: '7', quantity: 3, priceCents: 1000 },
    { productId: '8', quantity: 1, priceCents: 7000 },
  ]
  const { commission: made } = await order(server, 'MIXED', 'EUR', { lineItems })
  const refund = (externalRefundId: string, productId: string, quantity: number) =>
    ownerCall(server, 'POST', `/admin/v1/commissions/${made.id}/refund`, {
      externalRefundId,
      lineItems: [{ productId, quantity }],
    })
  expect((await expectOk(refund('a', '7', 2))).commissionAmountCents).toBe(700)
  expect(await expectOk(refund('b', '8', 1))).toMatchObject({ commissionAmountCents: 0, orderStatus: 'APPROVED' })
  expect(await expectOk(refund('c', '7', 1))).toMatchObject({ commissionAmountCents: 0, orderStatus: 'REFUNDED' })
})

test('batches select by the currency of the commission; an adjustment keeps both currencies', async ({ server }) => {
  const flat = await order(server, 'FLAT', 'JPY')
  await order(server, 'PERCENT', 'USD')
  const batch = await expectOk(call(server, 'POST', '/api/v1/payouts', OCTOBER))
  expect(batch).toMatchObject({ currency: 'USD', totals: { commissionCents: 550 + 1600 } })
  await expectOk(call(server, 'PATCH', `/api/v1/payouts?id=${batch.id}&action=pay`))
  await expectOk(
    ownerCall(server, 'POST', `/admin/v1/commissions/${flat.commission.id}/refund`, { externalRefundId: 'all' }),
  )
  const { body } = await call(server, 'GET', '/api/v1/commissions?limit=100')
  expect(body.data.find((row: { orderId: string }) => row.orderId.startsWith('adj:'))).toMatchObject({
    commissionAmountCents: -550,
    currency: 'USD',
    orderCurrency: 'JPY',
  })
})

test('analytics sum orders and commissions in their own currencies', async ({ server }) => {
  await order(server, 'FLAT', 'JPY')
  await order(server, 'PERCENT', 'JPY')
  const totalsIn = async (currency: string) =>
    (await call(server, 'GET', `/api/v1/analytics?from=2026-10-01&to=2026-11-01&currency=${currency}`)).body
  expect(await totalsIn('USD')).toMatchObject({
    currencies: ['JPY', 'USD'],
    totals: { orders: 0, revenueCents: 0, commissionCents: 550 },
  })
  expect(await totalsIn('JPY')).toMatchObject({
    totals: { orders: 2, revenueCents: 20_000, commissionCents: 1600 },
  })
})

test('a backtest sums each side in its own currency', async ({ server }) => {
  await order(server, 'PERCENT', 'JPY')
  const { body } = await ownerCall(server, 'POST', '/admin/v1/backtests', {
    programId: programs.percent,
    commissionType: 'FLAT_PER_ORDER',
    commissionPercent: 5.5,
    from: '2026-10-01',
    to: '2026-11-01',
  })
  expect(body.data.totals).toEqual([
    { currency: 'JPY', currentCents: 1600, proposedCents: 0, deltaCents: -1600 },
    { currency: 'USD', currentCents: 0, proposedCents: 550, deltaCents: 550 },
  ])
  expect(body.data.examples).toMatchObject([
    {
      currency: 'JPY',
      current: { currency: 'JPY', amountCents: 1600 },
      proposed: { currency: 'USD', amountCents: 550 },
    },
  ])
})

test('a reopened order keeps the currency of its rate', async ({ server }) => {
  const { key } = shop
  const late = await newAffiliate(server, { key, campaignId: programs.flat, code: 'LATE' })
  await expectOk(call(server, 'PATCH', `/api/v1/affiliates?id=${late.id}`, { status: 'PENDING' }))
  const { commission: made } = await order(server, 'LATE', 'JPY')
  expect(made.status).toBe('REJECTED')
  await expectOk(call(server, 'PATCH', `/api/v1/affiliates?id=${late.id}`, { status: 'APPROVED' }))
  expect(await expectOk(ownerCall(server, 'POST', `/admin/v1/commissions/${made.id}/reopen`))).toMatchObject({
    currency: 'USD',
    orderCurrency: 'JPY',
    commissionAmountCents: 550,
  })
})

test('sums per currency equal the sums of the commissions, for any mix of orders', async ({ server }) => {
  const anyOrder = fc.record({
    coupon: fc.constantFrom('FLAT', 'PERCENT', 'MIXED'),
    currency: fc.constantFrom('USD', 'EUR', 'JPY'),
    cents: fc.integer({ min: 1, max: 99_999 }),
    pieces: fc.integer({ min: 0, max: 3 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(anyOrder, { minLength: 1, maxLength: 6 }), async (mix) => {
      const before = new Map<string, number>()
      const totals = async () => {
        const { body } = await call(server, 'GET', '/api/v1/commissions?limit=100')
        const sums = new Map<string, number>()
        for (const row of body.data) sums.set(row.currency, (sums.get(row.currency) ?? 0) + row.commissionAmountCents)
        return sums
      }
      for (const [currency, cents] of await totals()) before.set(currency, cents)
      const expected = new Map(before)
      const add = (currency: string, cents: number) => expected.set(currency, (expected.get(currency) ?? 0) + cents)
      for (const { coupon, currency, cents, pieces } of mix) {
        const flatLine = pieces > 0 && coupon === 'MIXED' ? [{ productId: '7', quantity: pieces, priceCents: 0 }] : []
        await order(server, coupon, currency, {
          amountCents: undefined,
          lineItems: [{ productId: '8', quantity: 1, priceCents: cents }, ...flatLine],
        })
        if (coupon === 'FLAT') add('USD', 550)
        else if (coupon === 'PERCENT') add(currency, Math.floor((cents * 16 + 50) / 100))
        else add(currency, Math.floor((cents * 10 + 50) / 100) + (currency === 'USD' ? 200 * pieces : 0))
      }
      const made = await totals()
      for (const [currency, cents] of expected)
        expect({ currency, cents: made.get(currency) ?? 0 }).toEqual({ currency, cents })
    }),
    { numRuns: 8 },
  )
})
