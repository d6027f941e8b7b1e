import { describe, expect } from 'vitest'
import { ok, storeOf } from '../stores/fixture.ts'
import { admin, ownerServer } from '../support/owner.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, newAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

const PERSON = ['kim@example.com', 'customer-7', 'Springfield']

// biome-ignore lint/suspicious/noExplicitAny: rows of the API
type Row = any

const list = (server: TestServer, query = '', key?: string) =>
  expectOk(server.request('GET', `/api/v1/orders?${query}`, key ? { key } : {})) as Promise<Row[]>
const explain = (server: TestServer, id: string) =>
  server.request('GET', `/api/v1/orders/explanation?externalOrderId=${encodeURIComponent(id)}`)

test.beforeAll(async ({ server }) => {
  const store = await storeOf(server)
  const sold = { total_line_items_price: '50.00', line_items: [], currency: 'USD', financial_status: 'paid' }
  const order = { amountCents: 10_000, discountCents: 1000, shippingCents: 500, taxCents: 200 }
  const evidence = { customerEmail: PERSON[0], customerId: PERSON[1], shipping: { city: PERSON[2], country: 'US' } }
  await convert(server, {
    ...order,
    ...evidence,
    externalOrderId: '1001',
    orderName: '#A1',
    couponCode: 'NISA16',
    occurredAt: '2026-10-01',
  })
  await convert(server, {
    ...order,
    ...evidence,
    externalOrderId: '1007',
    couponCode: 'SUMMER',
    occurredAt: '2026-10-02',
  })
  await newAffiliate(server, { code: 'PIA' })
  const free = { amountCents: 1000, discountCents: 1000, couponCode: 'PIA' }
  await convert(server, { ...free, externalOrderId: '1008', occurredAt: '2026-10-03' })
  for (const order of [
    { id: 1001, name: '#B1', created_at: '2026-10-04T00:00:00Z' },
    { id: 99, name: '#1007', created_at: '2026-10-05T00:00:00Z' },
  ])
    await ok(store.notify('orders-paid', JSON.stringify({ ...sold, ...order })))
  const refund = { externalOrderId: '1001', externalRefundId: 'r', amountCents: 3000 }
  await expectOk(server.request('POST', '/api/v1/refunds', { body: refund }))
  for (const [externalOrderId, occurredAt] of [
    ['1001', '2026-10-09'],
    ['1007', null],
  ])
    await expectOk(server.request('POST', '/api/v1/cancellations', { body: { externalOrderId, occurredAt } }))
})

describe('the list of orders', () => {
  test('has every reported order, newest first, with its attribution, amounts, refunds and cancellation', async ({
    server,
  }) => {
    const rows = await list(server)
    expect(rows.map(({ orderId }) => orderId)).toEqual([
      'shopify:99',
      'shopify:1001',
      'api:1008',
      'api:1007',
      'api:1001',
    ])
    const [, , restricted, nobody, credited] = rows
    expect(credited).toEqual({
      orderId: 'api:1001',
      externalOrderId: '1001',
      orderName: '#A1',
      orderCurrency: 'USD',
      orderSubtotalCents: 10_000,
      orderDiscountCents: 1000,
      orderShippingCents: 500,
      orderTaxCents: 200,
      attribution: { affiliateId: expect.any(String), method: 'COUPON', confidence: 1, reasonCode: 'COUPON_MATCH' },
      commissionId: expect.stringMatching(/^com_/),
      restrictionReasonCode: null,
      refundedCents: 3000,
      canceledAt: '2026-10-09T00:00:00.000Z',
      happenedAt: '2026-10-01T00:00:00.000Z',
      createdAt: expect.any(String),
    })
    expect(nobody).toMatchObject({
      externalOrderId: '1007',
      orderSubtotalCents: 10_000,
      orderDiscountCents: 1000,
      orderShippingCents: 500,
      orderTaxCents: 200,
      attribution: { affiliateId: null, method: null, confidence: 0, reasonCode: 'NO_MATCH' },
      commissionId: null,
      refundedCents: 0,
      canceledAt: expect.stringMatching(/Z$/),
    })
    expect(restricted).toMatchObject({ restrictionReasonCode: 'ZERO_BASE', canceledAt: null })
  })

  test.for([
    ['credited=true', ['api:1008', 'api:1001']],
    ['credited=false', ['shopify:99', 'shopify:1001', 'api:1007']],
    ['from=2026-10-02&to=2026-10-03', ['api:1008', 'api:1007']],
    ['credited=false&to=2026-10-04', ['shopify:1001', 'api:1007']],
    // The stored id, the id in every source, and the name.
    ['externalOrderId=api:1001', ['api:1001']],
    ['externalOrderId=1001', ['shopify:1001', 'api:1001']],
    ['externalOrderId=1001&credited=true', ['api:1001']],
    ['externalOrderId=1001&from=2026-10-02', ['shopify:1001']],
    ['externalOrderId=%23A1', ['api:1001']],
    ['externalOrderId=B1', ['shopify:1001']],
    ['externalOrderId=1007', ['api:1007']],
    ['externalOrderId=%231007', ['shopify:99']],
    ['externalOrderId=never', []],
  ] as const)('with %s', async ([query, expected], { server }) => {
    expect((await list(server, query)).map(({ orderId }) => orderId)).toEqual(expected)
  })

  test('by affiliate, which excludes orders that nobody was credited for', async ({ server }) => {
    const [{ attribution }] = await list(server, 'externalOrderId=api:1001')
    const by = `affiliateId=${attribution.affiliateId}`
    expect((await list(server, by)).map(({ orderId }) => orderId)).toEqual(['api:1001'])
    expect(await list(server, `${by}&credited=false`)).toEqual([])
    expect(await list(server, `${by}&externalOrderId=1007`)).toEqual([])
  })

  test('of a test shop is read with its key', async () => {
    const server = await ownerServer()
    const { apiKey: key } = await expectOk(admin(server, 'POST', '/test-shops', {}))
    await convert(server, { externalOrderId: 'trial', amountCents: 100 }, { key })
    expect((await list(server, 'credited=false', key)).map(({ orderId }) => orderId)).toEqual(['api:trial'])
    server.close()
  })
})

describe('the explanation of an order', () => {
  test('tells an order that nobody was credited for from one that was never reported', async ({ server }) => {
    const { status, body } = await explain(server, '1007')
    expect([status, body.data.outcome, body.data.summary]).toEqual([200, 'NOBODY', expect.stringContaining('SUMMER')])
    const unknown = await explain(server, '1009')
    expect([unknown.status, unknown.headers.get('X-Error-Code')]).toEqual([404, 'order_not_found'])
  })

  test('is what the owner sees, without the customer', async ({ server, owner }) => {
    const { order, decision, ...shown } = await expectOk(owner('GET', '/orders/api:1001/explanation'))
    expect(JSON.stringify({ order, decision, ...shown })).toContain(PERSON[0])
    const { body } = await explain(server, 'api:1001')
    const anonymous = JSON.stringify(body.data)
    expect(PERSON.filter((text) => anonymous.includes(text))).toEqual([])
    expect(body.data).toEqual(
      JSON.parse(
        JSON.stringify(shown)
          .replaceAll(`"${PERSON[1]}"`, '"(customer ID)"')
          .replaceAll(`"${PERSON[0]}"`, '"(email address)"'),
      ),
    )
  })

  test('409 for the id of several orders, naming them', async ({ server }) => {
    const { status, headers, body } = await explain(server, '1001')
    expect([status, headers.get('X-Error-Code')]).toEqual([409, 'order_ambiguous'])
    expect(body.error).toMatch(/api:1001.*shopify:1001|shopify:1001.*api:1001/)
    expect((await explain(server, 'shopify:1001')).body.data.outcome).toBe('NOBODY')
  })
})
