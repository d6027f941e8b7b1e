import { createHmac } from 'node:crypto'
import { describe, expect } from 'vitest'
import type { Reply, TestServer } from '../support/server.ts'
import { convert, expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { canceledPayload, orderPayload, refundPayload } from './payloads.ts'

const SECRET = 'hush hush'

let affiliate: { id: string }
test.beforeAll(async ({ server, owner }) => {
  affiliate = (await withAffiliate(server)).affiliate
  await expectOk(owner('PATCH', '/settings', { storeWebhookSecret: SECRET }))
})

type Topic = 'orders-paid' | 'orders-cancelled' | 'refunds-create'

const sign = (text: string, secret = SECRET) => createHmac('sha256', secret).update(text).digest('base64')

const notify = (server: TestServer, topic: Topic, text: string, signature = sign(text)): Promise<Reply> =>
  server.request('POST', `/integrations/shopify/${server.shop.shopId}/${topic}`, {
    key: null,
    raw: text,
    headers: { 'X-Shopify-Hmac-Sha256': signature, 'X-Shopify-Topic': topic.replace('-', '/') },
  })

const ok = async (pending: Promise<Reply>) => {
  const reply = await pending
  expect(reply.status, JSON.stringify(reply.body)).toBe(200)
  return reply.body
}

let ids = 5_600_000_000_000
const nextId = () => ++ids
const commission = async (server: TestServer, id: number | string) =>
  (await server.request('GET', `/api/v1/commissions?externalOrderId=shopify:${id}`)).body.data[0]
const earned = async (server: TestServer, pattern: string) =>
  server.sql
    .prepare(`select coalesce(sum("commissionAmountCents"), 0) from commissions where "orderId" like ?`)
    .pluck()
    .get(pattern)

describe('the signature', () => {
  test.for([
    ['of another secret', (text: string) => sign(text, 'other')],
    ['of other bytes', (text: string) => sign(`${text} `)],
    ['that is no base64', () => '***'],
    ['in hex', (text: string) => createHmac('sha256', SECRET).update(text).digest('hex')],
  ])('401 %s', async ([_, make], { server }) => {
    const text = orderPayload({ id: nextId() })
    const { status, headers } = await notify(server, 'orders-paid', text, make(text))
    expect([status, headers.get('X-Error-Code')]).toEqual([401, 'store_signature_invalid'])
  })

  test('401 without one, for another shop, and for a shop without a secret', async ({ server }) => {
    const text = orderPayload({ id: nextId() })
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

  test('is over the raw bytes: whitespace and escapes stay as they were sent', async ({ server }) => {
    const id = nextId()
    const text = `  ${JSON.stringify(JSON.parse(orderPayload({ id, codes: ['NISA16'] })), null, 3)}\n`
    await ok(notify(server, 'orders-paid', text.replaceAll('✓', '\\u2713')))
    expect((await commission(server, id)).commissionAmountCents).toBe(1600)
  })
})

describe('orders-paid', () => {
  test('is processed like a conversion: the same evidence, base and rate', async ({ server }) => {
    const id = nextId()
    const lines = [
      { product_id: 632910392, variant_id: 808950810, quantity: 2, price: '45.50' },
      { product_id: 921728736, variant_id: 447654529, quantity: 1, price: '9.00' },
    ]
    const body = await ok(
      notify(server, 'orders-paid', orderPayload({ id, lines, subtotal: '90.00', codes: ['SUMMER', 'nisa16'] })),
    )
    const row = await commission(server, id)
    expect(body).toEqual({ ok: true, message: 'Order recorded.', id: row.id })
    expect(row).toMatchObject({
      affiliateId: affiliate.id,
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

  test('changes nothing when it is repeated, also in parallel and with changes', async ({ server }) => {
    const id = nextId()
    const text = orderPayload({ id, codes: ['NISA16'] })
    const replies = await Promise.all(Array.from({ length: 8 }, () => notify(server, 'orders-paid', text)))
    expect(new Set(replies.map((reply) => reply.body.id)).size).toBe(1)
    const again = await notify(server, 'orders-paid', orderPayload({ id, codes: ['NISA16'], subtotal: '1.00' }))
    expect(again.headers.get('X-Order-Already-Recorded')).toBe('true')
    expect(await earned(server, `%${id}%`)).toBe(1600)
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
    await expectOk(owner('POST', '/connections', { kind: 'customerId', value: '777', affiliateId: affiliate.id }))
    await expectOk(owner('POST', '/connections', { kind: 'variant', value: '999', affiliateId: affiliate.id }))
    const cases: [object, string][] = [
      [{ notes }, 'CLICK_MATCH'],
      [{ landingSite: '/products/hat?utm_source=ig&ref=nisa-karim' }, 'REF_MATCH'],
      [{ customerId: 777 }, 'CONNECTED_CUSTOMER_ID_MATCH'],
      [{ lines: [{ product_id: 1, variant_id: 999, quantity: 1, price: '10.00' }] }, 'CONNECTED_PRODUCT_MATCH'],
    ]
    for (const [given, reason] of cases) {
      const id = nextId()
      await ok(notify(server, 'orders-paid', orderPayload({ id, ...given })))
      expect((await commission(server, id)).attributionReasonCode).toBe(reason)
    }
  })

  test('no attribution without evidence, and the facts are stored for an explanation', async ({ server, owner }) => {
    const id = nextId()
    expect(await ok(notify(server, 'orders-paid', orderPayload({ id })))).toEqual({
      ok: true,
      message: 'Order recorded.',
    })
    const explained = await expectOk(owner('GET', `/orders/${id}/explanation`))
    expect([explained.orderId, explained.outcome]).toEqual([`shopify:${id}`, 'NOBODY'])
  })

  test('ids beyond 2^53 are kept digit by digit', async ({ server }) => {
    const rawId = '820982911946154508'
    await ok(notify(server, 'orders-paid', orderPayload({ rawId, codes: ['NISA16'] })))
    expect((await commission(server, rawId)).externalOrderId).toBe(rawId)
  })

  test.for([
    ['JPY', '1500', 1500, 240],
    ['HUF', '19900.00', 1_990_000, 318_400],
    ['KWD', '10.250', 10_250, 1640],
    ['USD', '0.05', 5, 1],
  ])('%s %s are %i minor units', async ([currency, price, subtotal, amount], { server }) => {
    const id = nextId()
    const lines = [{ product_id: 1, variant_id: 2, quantity: 1, price }]
    const text = JSON.stringify({
      ...JSON.parse(orderPayload({ id, currency, lines, codes: ['NISA16'] })),
      total_line_items_price: price,
      subtotal_price: price,
    })
    await ok(notify(server, 'orders-paid', text))
    expect(await commission(server, id)).toMatchObject({
      orderSubtotalCents: subtotal,
      commissionAmountCents: amount,
      currency,
    })
  })

  test('tax that prices include is deducted from the goods', async ({ server }) => {
    const id = nextId()
    const lines = [{ product_id: 1, variant_id: 2, quantity: 1, price: '119.00', tax: '17.10' }]
    await ok(
      notify(
        server,
        'orders-paid',
        orderPayload({ id, lines, subtotal: '107.10', taxesIncluded: true, codes: ['NISA16'] }),
      ),
    )
    expect(await commission(server, id)).toMatchObject({ commissionBaseCents: 9000, commissionAmountCents: 1440 })
  })

  test('400 when the price of the goods cannot be determined', async ({ server }) => {
    for (const goods of [{}, { line_items: [{ quantity: 1, price: 'free' }] }]) {
      const reply = await notify(
        server,
        'orders-paid',
        JSON.stringify({ id: nextId(), financial_status: 'paid', ...goods }),
      )
      expect([reply.status, reply.body.error]).toEqual([
        400,
        'total_line_items_price must be an amount from 0 to 1000000000000 minor units. Send the price of the goods.',
      ])
    }
  })

  test.for([
    { total_line_items_price: '9999999999999.999' },
    { total_tax: '9007199254740.992' },
    { line_items: [{ quantity: 1, price: '9999999999999.999' }] },
  ])('400 for an amount above the safe integers: %j', async (given, { server }) => {
    const text = { ...JSON.parse(orderPayload({ id: nextId(), currency: 'KWD', codes: ['NISA16'] })), ...given }
    const reply = await notify(server, 'orders-paid', JSON.stringify(text))
    expect([reply.status, reply.body.error]).toEqual([400, 'Amounts must be at most 9007199254740991 minor units.'])
  })

  test('an order of 400 lines is accepted', async ({ server }) => {
    const id = nextId()
    const lines = Array.from({ length: 400 }, (_, i) => ({
      product_id: i + 1,
      variant_id: i + 1,
      quantity: 1,
      price: '1.00',
    }))
    await ok(notify(server, 'orders-paid', orderPayload({ id, lines, codes: ['NISA16'] })))
    expect((await commission(server, id)).commissionAmountCents).toBe(6400)
  })
})

describe('orders-cancelled', () => {
  test('cancels an unpaid commission, once', async ({ server }) => {
    const id = nextId()
    await ok(notify(server, 'orders-paid', orderPayload({ id, codes: ['NISA16'] })))
    await ok(notify(server, 'orders-cancelled', canceledPayload({ id })))
    await ok(notify(server, 'orders-cancelled', canceledPayload({ id })))
    expect((await commission(server, id)).orderStatus).toBe('CANCELED')
  })

  test('before its order is paid: the order is recorded and canceled at once', async ({ server }) => {
    const id = nextId()
    await ok(notify(server, 'orders-cancelled', canceledPayload({ id })))
    await ok(notify(server, 'orders-paid', orderPayload({ id, codes: ['NISA16'] })))
    expect((await commission(server, id)).orderStatus).toBe('CANCELED')
  })

  test('takes back a paid commission, and a refund of the same order takes nothing more', async ({ server }) => {
    const id = nextId()
    const line = { product_id: 1, variant_id: 2, quantity: 1, price: '100.00' }
    await ok(
      notify(
        server,
        'orders-paid',
        orderPayload({ id, lines: [line], codes: ['NISA16'], processedAt: '2026-08-10T00:00:00Z' }),
      ),
    )
    const august = { periodStart: '2026-08-01', periodEnd: '2026-08-31T23:59:59.999Z' }
    const batch = await expectOk(server.request('POST', '/api/v1/payouts', { body: august }))
    await expectOk(server.request('PATCH', `/api/v1/payouts?id=${batch.id}&action=pay`))
    await ok(notify(server, 'orders-cancelled', canceledPayload({ id })))
    await ok(notify(server, 'refunds-create', refundPayload({ orderId: id, items: [{ ...line, subtotal: 100 }] })))
    const row = await commission(server, id)
    expect(row.orderStatus).toBe('REVERSED')
    const adjustments = server.sql
      .prepare(`select "orderId", "commissionAmountCents" cents from commissions where "orderId" like ?`)
      .all(`adj:${row.id}:%`)
    expect(adjustments).toEqual([{ orderId: `adj:${row.id}:reversal`, cents: -1600 }])
  })

  test('of an order whose affiliate was rejected: it cannot be reopened', async ({ server, owner }) => {
    const refused = await newAffiliate(server, { code: 'REFUSED' })
    await expectOk(server.request('PATCH', `/api/v1/affiliates?id=${refused.id}`, { body: { status: 'PENDING' } }))
    const id = nextId()
    await ok(notify(server, 'orders-paid', orderPayload({ id, codes: ['REFUSED'] })))
    await ok(notify(server, 'orders-cancelled', canceledPayload({ id })))
    await expectOk(server.request('PATCH', `/api/v1/affiliates?id=${refused.id}`, { body: { status: 'APPROVED' } }))
    const row = await commission(server, id)
    expect(row.orderStatus).toBe('REJECTED')
    const reply = await owner('POST', `/commissions/${row.id}/reopen`)
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([409, 'commission_move_not_allowed'])
  })
})

describe('refunds-create', () => {
  const line = { product_id: 632910392, variant_id: 808950810, quantity: 1, price: '50.00' }
  const order = { lines: [{ ...line, quantity: 2 }], subtotal: '90.00', codes: ['NISA16'] }

  test('deducts returned pieces at the price they were sold for, once', async ({ server }) => {
    const id = nextId()
    await ok(notify(server, 'orders-paid', orderPayload({ id, ...order })))
    const text = refundPayload({ orderId: id, items: [{ ...line, subtotal: 45 }] })
    await ok(notify(server, 'refunds-create', text))
    await ok(notify(server, 'refunds-create', text))
    expect(await commission(server, id)).toMatchObject({ commissionAmountCents: 720, orderStatus: 'APPROVED' })
    await ok(
      notify(server, 'refunds-create', refundPayload({ id: 2, orderId: id, items: [{ ...line, subtotal: 45 }] })),
    )
    expect(await commission(server, id)).toMatchObject({ commissionAmountCents: 0, orderStatus: 'REFUNDED' })
  })

  test('deducts amounts without pieces, and ignores shipping', async ({ server }) => {
    const id = nextId()
    await ok(notify(server, 'orders-paid', orderPayload({ id, ...order })))
    await ok(notify(server, 'refunds-create', refundPayload({ orderId: id, shipping: '-5.00' })))
    expect((await commission(server, id)).commissionAmountCents).toBe(1440)
    await ok(notify(server, 'refunds-create', refundPayload({ id: 2, orderId: id, discrepancy: '-30.00' })))
    expect((await commission(server, id)).commissionAmountCents).toBe(960)
    await ok(notify(server, 'refunds-create', refundPayload({ id: 3, orderId: id, discrepancy: '-500.00' })))
    expect(await commission(server, id)).toMatchObject({ commissionAmountCents: 0, orderStatus: 'REFUNDED' })
  })

  test('a refund of less than the price of its pieces', async ({ server }) => {
    const id = nextId()
    await ok(notify(server, 'orders-paid', orderPayload({ id, ...order })))
    await ok(
      notify(
        server,
        'refunds-create',
        refundPayload({ orderId: id, items: [{ ...line, subtotal: 45 }], discrepancy: '15.00' }),
      ),
    )
    expect((await commission(server, id)).commissionAmountCents).toBe(960)
  })

  test('adds up decimal amounts exactly', async ({ server, owner }) => {
    const id = nextId()
    const priced = { ...line, quantity: 1, price: '100.000' }
    await ok(notify(server, 'orders-paid', orderPayload({ id, lines: [priced], currency: 'KWD', codes: ['NISA16'] })))
    const items = [{ quantity: 1, subtotal: '9007199254741.002', line_item: { product_id: null } }]
    const order_adjustments = [{ kind: 'refund_discrepancy', amount: '9007199254740.993' }]
    const refund = { id: 1, order_id: id, refund_line_items: items, order_adjustments }
    await ok(notify(server, 'refunds-create', JSON.stringify(refund)))
    const { refunds } = await expectOk(owner('GET', `/orders/${id}/explanation`))
    expect(refunds[0].goodsCents).toBe(9)
  })

  test('before its order is paid, and without attribution: it counts as soon as the order is attributed', async ({
    server,
  }) => {
    const id = nextId()
    await ok(notify(server, 'refunds-create', refundPayload({ orderId: id, items: [{ ...line, subtotal: 45 }] })))
    await ok(notify(server, 'orders-paid', orderPayload({ id, lines: order.lines, subtotal: '90.00' })))
    expect(await commission(server, id)).toBeUndefined()
    await ok(notify(server, 'orders-paid', orderPayload({ id, ...order })))
    expect(await commission(server, id)).toMatchObject({ commissionAmountCents: 720, orderStatus: 'APPROVED' })
  })

  test('of a rejected commission: it counts when the commission is reopened', async ({ server, owner }) => {
    const id = nextId()
    await ok(notify(server, 'orders-paid', orderPayload({ id, ...order })))
    const row = await commission(server, id)
    await expectOk(owner('POST', `/commissions/${row.id}/reject`))
    await ok(notify(server, 'refunds-create', refundPayload({ orderId: id, items: [{ ...line, subtotal: 45 }] })))
    const reopened = await expectOk(owner('POST', `/commissions/${row.id}/reopen`))
    expect(reopened).toMatchObject({ orderStatus: 'PENDING', commissionAmountCents: 720 })
  })

  test('of an order that is reopened at several rates: each refund counts at the rate of its pieces', async ({
    server,
    owner,
  }) => {
    const { program, affiliate } = await withAffiliate(server, { code: 'RATES1' })
    const rule = { programId: program.id, kind: 'variant', value: '51', commissionPercent: 50 }
    await expectOk(owner('POST', '/product-rules', rule))
    const setStatus = (status: string) =>
      expectOk(server.request('PATCH', `/api/v1/affiliates?id=${affiliate.id}`, { body: { status } }))
    await setStatus('PENDING')
    const id = nextId()
    const [plain, better] = [50, 51].map((variant_id) => ({ product_id: 5, variant_id, quantity: 2, price: '50.00' }))
    await ok(notify(server, 'orders-paid', orderPayload({ id, lines: [plain!, better!], codes: ['RATES1'] })))
    const refundOne = (refundId: number, line: typeof plain) =>
      ok(
        notify(
          server,
          'refunds-create',
          refundPayload({ id: refundId, orderId: id, items: [{ ...line!, quantity: 1, subtotal: 50 }] }),
        ),
      )
    await refundOne(1, plain)
    await setStatus('APPROVED')
    const row = await commission(server, id)
    const reopened = await expectOk(owner('POST', `/commissions/${row.id}/reopen`))
    expect(reopened.commissionAmountCents).toBe(800 + 5000)
    await refundOne(2, better)
    expect((await commission(server, id)).commissionAmountCents).toBe(800 + 2500)
    await refundOne(3, plain)
    expect((await commission(server, id)).commissionAmountCents).toBe(2500)
  })

  test('is in the currency of the order, also where a flat rate is in the currency of the shop', async ({ server }) => {
    const flat = { name: 'Flat', autoApproveOrder: true, commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 }
    const { id: campaignId } = await expectOk(server.request('POST', '/api/v1/programs', { body: flat }))
    await newAffiliate(server, { campaignId, code: 'YENS' })
    const early = nextId()
    const partOf = (orderId: number) => refundPayload({ id: 1, orderId, discrepancy: '-100' })
    await ok(notify(server, 'refunds-create', partOf(early)))
    for (const id of [early, nextId()]) {
      const lines = [{ product_id: 1, variant_id: 2, quantity: 1, price: '10000' }]
      await ok(
        notify(server, 'orders-paid', orderPayload({ id, lines, subtotal: '10000', currency: 'JPY', codes: ['YENS'] })),
      )
      await ok(notify(server, 'refunds-create', partOf(id)))
      expect(await commission(server, id)).toMatchObject({
        currency: 'USD',
        orderCurrency: 'JPY',
        commissionAmountCents: 500,
        orderStatus: 'APPROVED',
      })
      await ok(notify(server, 'refunds-create', refundPayload({ id: 2, orderId: id, discrepancy: '-9900' })))
      expect(await commission(server, id)).toMatchObject({ commissionAmountCents: 0, orderStatus: 'REFUNDED' })
    }
  })

  test('custom goods without ids are refunded by their amount', async ({ server }) => {
    const id = nextId()
    const custom = { product_id: null, variant_id: null, quantity: 1, price: '40.00' }
    await ok(notify(server, 'orders-paid', orderPayload({ id, lines: [line, custom], codes: ['NISA16'] })))
    await ok(notify(server, 'refunds-create', refundPayload({ orderId: id, items: [{ ...custom, subtotal: 40 }] })))
    expect((await commission(server, id)).commissionAmountCents).toBe(800)
  })
})

test('a buyer is the affiliate by any of the addresses that the store sends', async ({ server }) => {
  const own = await newAffiliate(server, { email: 'ann@example.com', code: 'ANN1', name: 'Ann' })
  for (const change of [
    { email: 'z@z.com', customer: { id: 1, email: 'ann@example.com' } },
    { email: 'z@z.com', contact_email: 'Ann+shop@example.com' },
    { email: 'ann@example.com', contact_email: 'z@z.com' },
  ]) {
    const id = nextId()
    await ok(
      notify(
        server,
        'orders-paid',
        JSON.stringify({ ...JSON.parse(orderPayload({ id })), ...change, discount_codes: [{ code: 'ANN1' }] }),
      ),
    )
    expect(await commission(server, id)).toMatchObject({ affiliateId: own.id, restrictionReasonCode: 'SELF_REFERRAL' })
  }
})
