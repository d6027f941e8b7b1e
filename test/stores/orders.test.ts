import { describe, expect } from 'vitest'
import { rejectionOf } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, newAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { ok, type Store, sign, storeOf } from './fixture.ts'
import { canceledPayload, orderPayload, refundPayload } from './payloads.ts'

let store: Store
test.beforeAll(async ({ server }) => {
  store = await storeOf(server)
})

const commissionsOf = async ({ client }: TestServer, pattern: RegExp) => {
  const { data } = await client.commissions.list({ limit: 100 })
  return data.filter(({ orderId }) => pattern.test(orderId))
}
const earned = async (server: TestServer, pattern: RegExp) =>
  (await commissionsOf(server, pattern)).reduce((sum, row) => sum + row.commissionAmountCents, 0)

describe('the signature', () => {
  test.for([
    ['of another secret', (text: string) => sign(text, 'other')],
    ['of other bytes', (text: string) => sign(`${text} `)],
    ['that is no base64', () => '***'],
    ['in hex', (text: string) => Buffer.from(sign(text), 'base64').toString('hex')],
  ])('401 %s', async ([_, make]) => {
    const text = orderPayload({ id: store.nextId() })
    const { status, headers } = await store.notify('orders-paid', text, { 'X-Shopify-Hmac-Sha256': make(text) })
    expect([status, headers.get('X-Error-Code')]).toEqual([401, 'store_signature_invalid'])
  })

  test('401 without one, for another shop, and for a shop without a secret', async ({ server }) => {
    const text = orderPayload({ id: store.nextId() })
    const path = (shopId: string) => `/integrations/shopify/${shopId}/orders-paid`
    const missing = await server.request('POST', path(server.shop.shopId), { key: null, raw: text })
    expect([missing.status, missing.headers.get('X-Error-Code')]).toEqual([401, 'store_signature_missing'])
    const other = await server.createShop()
    for (const shopId of [other.shopId, 'shp_none']) {
      const headers = { 'X-Shopify-Hmac-Sha256': sign(text) }
      const reply = await server.request('POST', path(shopId), { key: null, raw: text, headers })
      expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([401, 'store_signature_invalid'])
    }
  })

  test('is over the raw bytes: whitespace and escapes stay as they were sent', async () => {
    const id = store.nextId()
    const text = `  ${JSON.stringify(JSON.parse(orderPayload({ id, codes: ['NISA16'] })), null, 3)}\n`
    await ok(store.notify('orders-paid', text.replaceAll('✓', '\\u2713')))
    expect((await store.commission(id)).commissionAmountCents).toBe(1600)
  })
})

describe('orders-paid', () => {
  test('is processed like a conversion: the same evidence, base and rate', async ({ server }) => {
    const id = store.nextId()
    const lines = [
      { product_id: 632910392, variant_id: 808950810, quantity: 2, price: '45.50' },
      { product_id: 921728736, variant_id: 447654529, quantity: 1, price: '9.00' },
    ]
    const body = await ok(
      store.notify('orders-paid', orderPayload({ id, lines, subtotal: '90.00', codes: ['SUMMER', 'nisa16'] })),
    )
    const row = await store.commission(id)
    expect(body).toEqual({ ok: true, message: 'Order recorded.', id: row.id })
    expect(row).toMatchObject({
      affiliateId: store.affiliate.id,
      externalOrderId: String(id),
      orderId: `shopify:${id}`,
      orderName: '#1001',
      trackingMethod: 'STORE_ORDER',
      attributionMethod: 'COUPON',
      orderSubtotalCents: 10_000,
      orderDiscountCents: 1000,
      orderShippingCents: 500,
      orderTaxCents: 765,
      commissionBaseCents: 9000,
      commissionAmountCents: 1440,
      happenedAt: '2026-10-20T15:04:05.000Z',
    })
    const twin = { externalOrderId: `twin-${id}`, amountCents: 10_000, discountCents: 1000, couponCode: 'NISA16' }
    expect((await convert(server, twin)).body.commission.amountCents).toBe(1440)
  })

  test('changes nothing when it is repeated, even in parallel and with changes', async ({ server }) => {
    const id = store.nextId()
    const text = orderPayload({ id, codes: ['NISA16'] })
    const replies = await Promise.all(Array.from({ length: 8 }, () => store.notify('orders-paid', text)))
    expect(new Set(replies.map((reply) => reply.body.id)).size).toBe(1)
    const again = await store.notify('orders-paid', orderPayload({ id, codes: ['NISA16'], subtotal: '1.00' }))
    expect(again.headers.get('X-Order-Already-Recorded')).toBe('true')
    expect(await earned(server, new RegExp(`${id}`))).toBe(1600)
  })

  test('the click of the notes, the ref of the landing page, the customer and the product are evidence', async ({
    server,
    owner,
  }) => {
    const click = await expectOk(
      server.request('POST', '/api/v1/events', {
        body: { type: 'click', ref: 'nisa-karim', occurredAt: '2026-10-19T00:00:00Z' },
      }),
    )
    const notes = [{ name: 'referral_click_id', value: click.id }]
    await expectOk(owner('POST', '/connections', { kind: 'customerId', value: '777', affiliateId: store.affiliate.id }))
    await expectOk(owner('POST', '/connections', { kind: 'variant', value: '999', affiliateId: store.affiliate.id }))
    const cases: [object, string][] = [
      [{ notes }, 'CLICK_MATCH'],
      [{ landingSite: '/products/hat?utm_source=ig&ref=nisa-karim' }, 'REF_MATCH'],
      [{ customerId: 777 }, 'CONNECTED_CUSTOMER_ID_MATCH'],
      [{ lines: [{ product_id: 1, variant_id: 999, quantity: 1, price: '10.00' }] }, 'CONNECTED_PRODUCT_MATCH'],
    ]
    for (const [given, reason] of cases) {
      const id = store.nextId()
      await ok(store.notify('orders-paid', orderPayload({ id, ...given })))
      expect((await store.commission(id)).attributionReasonCode).toBe(reason)
    }
  })

  test('no attribution without evidence, and the facts are stored for an explanation', async ({ owner }) => {
    const id = store.nextId()
    expect(await ok(store.notify('orders-paid', orderPayload({ id })))).toEqual({
      ok: true,
      message: 'Order recorded.',
    })
    const explained = await expectOk(owner('GET', `/orders/${id}/explanation`))
    expect([explained.orderId, explained.outcome]).toEqual([`shopify:${id}`, 'NOBODY'])
  })

  test('ids beyond 2^53 are kept digit by digit', async () => {
    const rawId = '820982911946154508'
    await ok(store.notify('orders-paid', orderPayload({ rawId, codes: ['NISA16'] })))
    expect((await store.commission(rawId)).externalOrderId).toBe(rawId)
  })

  test.for([
    ['JPY', '1500', 1500, 240],
    ['HUF', '19900.00', 1_990_000, 318_400],
    ['KWD', '10.250', 10_250, 1640],
    ['USD', '0.05', 5, 1],
  ])('an amount in %s of %s is stored as %i minor units', async ([currency, price, subtotal, amount]) => {
    const id = store.nextId()
    const lines = [{ product_id: 1, variant_id: 2, quantity: 1, price }]
    const text = JSON.stringify({
      ...JSON.parse(orderPayload({ id, currency, lines, codes: ['NISA16'] })),
      total_line_items_price: price,
      subtotal_price: price,
    })
    await ok(store.notify('orders-paid', text))
    expect(await store.commission(id)).toMatchObject({
      orderSubtotalCents: subtotal,
      commissionAmountCents: amount,
      currency,
    })
  })

  test('tax that prices include is deducted from the goods', async () => {
    const id = store.nextId()
    const lines = [{ product_id: 1, variant_id: 2, quantity: 1, price: '119.00', tax: '17.10' }]
    await ok(
      store.notify(
        'orders-paid',
        orderPayload({ id, lines, subtotal: '107.10', taxesIncluded: true, codes: ['NISA16'] }),
      ),
    )
    expect(await store.commission(id)).toMatchObject({ commissionBaseCents: 9000, commissionAmountCents: 1440 })
  })

  test('400 when the price of the goods cannot be determined', async () => {
    for (const goods of [{}, { line_items: [{ quantity: 1, price: 'free' }] }]) {
      const reply = await store.notify(
        'orders-paid',
        JSON.stringify({ id: store.nextId(), financial_status: 'paid', ...goods }),
      )
      const rejected = { status: 400, code: 'invalid_body', field: 'total_line_items_price' }
      expect(rejectionOf(reply)).toEqual(rejected)
    }
  })

  test.for([
    { total_line_items_price: '9999999999999.999' },
    { total_tax: '9007199254740.992' },
    { line_items: [{ quantity: 1, price: '9999999999999.999' }] },
  ])('400 for an amount above the safe integers: %j', async (given) => {
    const text = { ...JSON.parse(orderPayload({ id: store.nextId(), currency: 'KWD', codes: ['NISA16'] })), ...given }
    const reply = await store.notify('orders-paid', JSON.stringify(text))
    expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body' })
  })

  test('an order of 400 lines is accepted', async () => {
    const id = store.nextId()
    const lines = Array.from({ length: 400 }, (_, i) => ({
      product_id: i + 1,
      variant_id: i + 1,
      quantity: 1,
      price: '1.00',
    }))
    await ok(store.notify('orders-paid', orderPayload({ id, lines, codes: ['NISA16'] })))
    expect((await store.commission(id)).commissionAmountCents).toBe(6400)
  })
})

describe('orders-cancelled', () => {
  test('cancels an unpaid commission, once', async () => {
    const id = store.nextId()
    await ok(store.notify('orders-paid', orderPayload({ id, codes: ['NISA16'] })))
    await ok(store.notify('orders-cancelled', canceledPayload({ id })))
    await ok(store.notify('orders-cancelled', canceledPayload({ id })))
    expect((await store.commission(id)).orderStatus).toBe('CANCELED')
  })

  test('before its order is paid: the order is recorded and canceled at once', async () => {
    const id = store.nextId()
    await ok(store.notify('orders-cancelled', canceledPayload({ id })))
    await ok(store.notify('orders-paid', orderPayload({ id, codes: ['NISA16'] })))
    expect((await store.commission(id)).orderStatus).toBe('CANCELED')
  })

  test('takes back a paid commission, and a refund of the same order takes nothing more', async ({ server }) => {
    const id = store.nextId()
    const line = { product_id: 1, variant_id: 2, quantity: 1, price: '100.00' }
    await ok(
      store.notify(
        'orders-paid',
        orderPayload({ id, lines: [line], codes: ['NISA16'], processedAt: '2026-08-10T00:00:00Z' }),
      ),
    )
    const august = { periodStart: '2026-08-01', periodEnd: '2026-08-31T23:59:59.999Z' }
    const batch = await expectOk(server.request('POST', '/api/v1/payouts', { body: august }))
    await expectOk(server.request('PATCH', `/api/v1/payouts?id=${batch.id}&action=pay`))
    await ok(store.notify('orders-cancelled', canceledPayload({ id })))
    await ok(store.notify('refunds-create', refundPayload({ orderId: id, items: [{ ...line, subtotal: 100 }] })))
    const row = await store.commission(id)
    expect(row.orderStatus).toBe('REVERSED')
    const adjustments = await commissionsOf(server, new RegExp(`^adj:${row.id}:`))
    expect(adjustments).toMatchObject([{ orderId: `adj:${row.id}:reversal`, commissionAmountCents: -1600 }])
  })

  test('of an order whose affiliate was rejected: it cannot be reopened', async ({ server, owner }) => {
    const refused = await newAffiliate(server, { code: 'REFUSED' })
    await expectOk(server.request('PATCH', `/api/v1/affiliates?id=${refused.id}`, { body: { status: 'PENDING' } }))
    const id = store.nextId()
    await ok(store.notify('orders-paid', orderPayload({ id, codes: ['REFUSED'] })))
    await ok(store.notify('orders-cancelled', canceledPayload({ id })))
    await expectOk(server.request('PATCH', `/api/v1/affiliates?id=${refused.id}`, { body: { status: 'APPROVED' } }))
    const row = await store.commission(id)
    expect(row.orderStatus).toBe('REJECTED')
    const reply = await owner('POST', `/commissions/${row.id}/reopen`)
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([409, 'commission_move_not_allowed'])
  })
})

test('a buyer is the affiliate by any of the addresses that the store sends', async ({ server }) => {
  const own = await newAffiliate(server, { email: 'ann@example.com', code: 'ANN1', name: 'Ann' })
  for (const change of [
    { email: 'z@z.com', customer: { id: 1, email: 'ann@example.com' } },
    { email: 'z@z.com', contact_email: 'Ann+shop@example.com' },
    { email: 'ann@example.com', contact_email: 'z@z.com' },
  ]) {
    const id = store.nextId()
    await ok(
      store.notify(
        'orders-paid',
        JSON.stringify({ ...JSON.parse(orderPayload({ id })), ...change, discount_codes: [{ code: 'ANN1' }] }),
      ),
    )
    expect(await store.commission(id)).toMatchObject({ affiliateId: own.id, restrictionReasonCode: 'SELF_REFERRAL' })
  }
})

test('an order in a currency that does not exist is rejected, not paid in another one', async () => {
  const id = store.nextId()
  const reply = await store.notify('orders-paid', orderPayload({ id, currency: 'UDS', codes: ['NISA16'] }))
  expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'invalid_body'])
  expect(await store.commission(id)).toBeUndefined()
})
