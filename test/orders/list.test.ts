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
})

describe('the list of orders', () => {
  test.for([
    ['', ['shopify:99', 'shopify:1001', 'api:1008', 'api:1007', 'api:1001']],
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
  ] as const)('of all sources with %s, newest first', async ([query, expected], { server }) => {
    expect((await list(server, query)).map(({ orderId }) => orderId)).toEqual(expected)
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
