import { describe, expect } from 'vitest'
import { countOf, updateRows } from '../support/inspect.ts'
import { rejectionOf } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { convert, withAffiliate } from '../support/shop.ts'
import { type Client, test } from '../support/test.ts'

let affiliateId: string
test.beforeAll(async ({ server }) => {
  affiliateId = (await withAffiliate(server, { code: 'NISA' })).affiliate.id
})

let orders = 0
const order = (more: object = {}) => ({ externalOrderId: `o-${++orders}`, amountCents: 10_000, ...more })
const rowOf = async (client: Client, externalOrderId: string) =>
  (await client.commissions.list({ externalOrderId })).data[0]

test('201 with the attribution and the commission', async ({ server, client }) => {
  const sent = order({ discountCents: 1000, shippingCents: 700, taxCents: 812, couponCode: 'NISA', orderName: '#1' })
  const { data, response } = await client.events.conversion(sent).withResponse()
  expect([response.status, data]).toEqual([
    201,
    {
      attribution: { affiliateId, method: 'COUPON', confidence: 1, reasonCode: 'COUPON_MATCH' },
      commission: {
        id: expect.stringMatching(/^com_/),
        eligible: true,
        affiliateId,
        amountCents: 1440,
        status: 'APPROVED',
        restrictionReasonCode: null,
      },
      alreadyRecorded: false,
      differs: false,
    },
  ])
  expect(await rowOf(client, sent.externalOrderId)).toMatchObject({
    id: data.commission.id,
    orderName: '#1',
    orderSubtotalCents: 10_000,
    orderDiscountCents: 1000,
    orderShippingCents: 700,
    orderTaxCents: 812,
    commissionBaseCents: 9000,
    happenedAt: new Date(server.clock.ms).toISOString(),
  })
})

test('201 with null fields without attribution, and no commission is written', async ({ server, client }) => {
  const before = countOf(server, 'commissions')
  for (const [evidence, reasonCode] of [
    [{}, 'NO_EVIDENCE'],
    [{ couponCode: 'NBDY' }, 'NO_MATCH'],
    [{ couponCode: ' ', ref: '', clickId: '\t' }, 'NO_EVIDENCE'],
    [{ clickId: 'jrn_none' }, 'CLICK_NOT_FOUND'],
  ] as const) {
    expect(await client.events.conversion(order(evidence))).toEqual({
      attribution: { affiliateId: null, method: null, confidence: 0, reasonCode },
      commission: {
        id: null,
        eligible: false,
        affiliateId: null,
        amountCents: 0,
        status: null,
        restrictionReasonCode: null,
      },
      alreadyRecorded: false,
      differs: false,
    })
  }
  expect(countOf(server, 'commissions')).toBe(before)
})

test('201 pending in a program that does not auto-approve orders', async ({ server, client }) => {
  await withAffiliate(server, { code: 'PENDS', program: { autoApproveOrder: false } })
  const { commission } = await client.events.conversion(order({ couponCode: 'PENDS' }))
  expect([commission.status, commission.eligible, commission.amountCents]).toEqual(['PENDING', true, 1600])
})

describe('aliases', () => {
  test('orderId is an alias of externalOrderId, which must have the same value', async ({ server, client }) => {
    const by = async (ids: object) =>
      (await convert(server, { amountCents: 100, couponCode: 'NISA', ...ids })).body.commission.id
    const first = await by({ orderId: 'alias-1' })
    expect((await rowOf(client, 'alias-1'))?.id).toBe(first)
    expect(await by({ externalOrderId: null, orderId: 'alias-1' })).toBe(first)
    expect(await by({ externalOrderId: ' alias-1', orderId: 'alias-1' })).toBe(first)
    const two = await convert(server, { amountCents: 100, orderId: 'alias-1', externalOrderId: 'alias-2' })
    expect(rejectionOf(two)).toEqual({ status: 400, code: 'invalid_body', field: 'orderId' })
  })

  test('processedAt is an alias of occurredAt, which must be the same instant', async ({ server, client }) => {
    for (const [times, happenedAt] of [
      [{ processedAt: '2026-10-01T10:00:00+02:00' }, '2026-10-01T08:00:00.000Z'],
      [{ processedAt: '2026-10-02', occurredAt: '2026-10-02T02:00:00+02:00' }, '2026-10-02T00:00:00.000Z'],
      [{ processedAt: '2026-10-03', occurredAt: null }, '2026-10-03T00:00:00.000Z'],
    ] as const) {
      const sent = order({ couponCode: 'NISA', ...times })
      await convert(server, sent)
      expect((await rowOf(client, sent.externalOrderId))?.happenedAt).toBe(happenedAt)
    }
    const two = await convert(server, order({ processedAt: '2026-10-01', occurredAt: '2026-10-02' }))
    expect(rejectionOf(two)).toEqual({ status: 400, code: 'invalid_body', field: 'processedAt' })
  })

  test('type may be omitted, null or conversion', async ({ server }) => {
    for (const type of [{}, { type: null }, { type: 'conversion' }]) {
      const reply = await convert(server, order({ couponCode: 'NISA', ...type }))
      expect([reply.status, reply.body.commission?.amountCents]).toEqual([201, 1600])
    }
  })
})

test('USD when no currency is sent, even in a shop with another currency', async ({ server }) => {
  const other = await server.createShop()
  updateRows(server, 'shops', { currency: 'EUR' }, { id: other.shopId })
  await withAffiliate(server, { code: 'EUR', key: other.key })
  const eur = server.clientOf(other.key)
  for (const [externalOrderId, currency] of [
    ['usd', undefined],
    ['null', null],
    ['chf', 'CHF'],
  ] as const)
    await eur.events.conversion({
      externalOrderId,
      amountCents: 100,
      couponCode: 'EUR',
      ...(currency === undefined ? {} : { currency }),
    })
  const rows = (await eur.commissions.list()).data
  expect(rows.map((row) => [row.externalOrderId, row.currency]).sort()).toEqual([
    ['chf', 'CHF'],
    ['null', 'USD'],
    ['usd', 'USD'],
  ])
})

test('null is treated as omitted', async ({ server, client }) => {
  const nothing = Object.fromEntries(
    'discountCents shippingCents taxCents currency affiliateCode ref clickId sessionId customerEmail customerId lineItems shipping occurredAt processedAt orderName note noteAttributes orderId'
      .split(' ')
      .map((name) => [name, null]),
  )
  const sent = order({ couponCode: 'NISA', ...nothing })
  expect((await convert(server, sent)).status).toBe(201)
  expect(await rowOf(client, sent.externalOrderId)).toMatchObject({
    orderDiscountCents: 0,
    orderShippingCents: 0,
    orderTaxCents: 0,
    currency: 'USD',
    orderName: null,
    commissionAmountCents: 1600,
  })
})

test('unknown properties are tolerated at every level', async ({ server }) => {
  const more = { tags: ['vip'], lineItems: [{ grams: 5 }], shipping: { name: 'x' }, noteAttributes: [{ id: 1 }] }
  expect((await convert(server, order({ couponCode: 'NISA', ...more }))).status).toBe(201)
})

test.for([
  [{ amountCents: 1 }, 'externalOrderId'],
  [{ externalOrderId: null, amountCents: 1 }, 'externalOrderId'],
  [{ externalOrderId: ' ', amountCents: 1 }, 'externalOrderId'],
  [{ externalOrderId: '', amountCents: 1 }, 'externalOrderId'],
  [{ externalOrderId: 1001, amountCents: 1 }, 'externalOrderId'],
  [{ externalOrderId: 'x' }, 'amountCents'],
  [{ externalOrderId: 'x', lineItems: [] }, 'amountCents'],
  [{ externalOrderId: 'x', amountCents: -1 }, 'amountCents'],
  [{ externalOrderId: 'x', amountCents: 1.5 }, 'amountCents'],
  [{ externalOrderId: 'x', amountCents: '100' }, 'amountCents'],
  [{ externalOrderId: 'x', amountCents: 2147483648 }, 'amountCents'],
  [{ externalOrderId: 'x', amountCents: 2 ** 53 }, 'amountCents'],
  [{ externalOrderId: 'x', amountCents: 1, discountCents: -1 }, 'discountCents'],
  [{ externalOrderId: 'x', amountCents: 1, shippingCents: 0.5 }, 'shippingCents'],
  [{ externalOrderId: 'x', amountCents: 1, taxCents: 2147483648 }, 'taxCents'],
  [{ externalOrderId: 'x', amountCents: 1, currency: 'usd' }, 'currency'],
  [{ externalOrderId: 'x', amountCents: 1, couponCode: 16 }, 'couponCode'],
  [{ externalOrderId: 'x', amountCents: 1, occurredAt: 'yesterday' }, 'occurredAt'],
  [{ externalOrderId: 'x', amountCents: 1, occurredAt: '2026-10-01T10:00:00' }, 'occurredAt'],
  [{ externalOrderId: 'x', amountCents: 1, occurredAt: '2026-02-29' }, 'occurredAt'],
  [{ externalOrderId: 'x', amountCents: 1, shipping: 'US' }, 'shipping'],
  [{ externalOrderId: 'x', amountCents: 1, noteAttributes: {} }, 'noteAttributes'],
  [{ type: 'sale', externalOrderId: 'x', amountCents: 1 }, 'type'],
])('400 for the body %j names the field %s', async ([body, field], { server }) => {
  const before = countOf(server, 'orders') + countOf(server, 'idempotencyKeys')
  const reply = await convert(server, body)
  expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: field })
  expect(countOf(server, 'orders') + countOf(server, 'idempotencyKeys')).toBe(before)
})

describe('occurredAt', () => {
  const at = (server: TestServer, ms: number) => new Date(server.clock.ms + ms).toISOString()

  test('201 up to 5 minutes ahead of now, 400 a millisecond later', async ({ server, client }) => {
    const sent = order({ occurredAt: at(server, 300_000), couponCode: 'NISA' })
    await client.events.conversion(sent)
    expect((await rowOf(client, sent.externalOrderId))?.happenedAt).toBe(at(server, 300_000))
    const reply = await convert(server, order({ occurredAt: at(server, 300_001) }))
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'occurred_at_in_future'])
  })

  test('201 for any past time, and for a date alone', async ({ client }) => {
    const sent = order({ occurredAt: '1999-12-31', couponCode: 'NISA' })
    await client.events.conversion(sent)
    expect((await rowOf(client, sent.externalOrderId))?.happenedAt).toBe('1999-12-31T00:00:00.000Z')
  })
})

test('400 without an Idempotency-Key, and the order may be reported afterwards', async ({ server, client }) => {
  const sent = order({ couponCode: 'NISA' })
  const reply = await server.request('POST', '/api/v1/events', { body: sent })
  expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'idempotency_key_required'])
  expect((await client.events.conversion(sent)).commission.amountCents).toBe(1600)
})

test('405 for every other method', async ({ server }) => {
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    const reply = await server.request(method, '/api/v1/events')
    expect([reply.status, reply.headers.get('Allow')], method).toEqual([405, 'POST'])
  }
})

describe('a property that is not documented', () => {
  test.for<[object, string, string]>([
    [{ discount_cents: 5000 }, 'discount_cents', 'discountCents'],
    [{ DiscountCents: 5000 }, 'DiscountCents', 'discountCents'],
    [{ discountCent: 5000 }, 'discountCent', 'discountCents'],
    [{ discountCennts: 5000 }, 'discountCennts', 'discountCents'],
    [{ discountCemts: null }, 'discountCemts', 'discountCents'],
    [{ shipping: { postal_code: '1' } }, 'shipping.postal_code', 'postalCode'],
    [{ lineItems: [{ priceCents: 1 }, { pricecents: 1 }] }, 'lineItems[].pricecents', 'priceCents'],
  ])('400 when it is a misspelling: %j', async ([more, sent, documented], { server }) => {
    const reply = await convert(server, order(more))
    expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'unknown_property'])
    expect(reply.body.error).toContain(`${sent} `)
    expect(reply.body.error).toContain(` ${documented}.`)
  })

  test('listed in X-Ignored-Properties otherwise, also on a replay', async ({ server }) => {
    const sent = order({
      couponCode: 'NISA',
      source_name: 'web',
      'größe, ⚖': 1,
      lineItems: [{ color: 'red', options: { size: 1 } }, { color: 'blue' }],
      shipping: { country: 'US', discountCents: 1 },
    })
    const headers = { 'Idempotency-Key': 'ignored-properties' }
    for (const replayed of [null, 'true']) {
      const reply = await server.request('POST', '/api/v1/events', { body: sent, headers })
      expect([reply.status, reply.headers.get('Idempotent-Replayed')]).toEqual([201, replayed])
      const names = ['source_name', 'gr%C3%B6%C3%9Fe%2C%20%E2%9A%96', 'lineItems[].color', 'lineItems[].options']
      expect(reply.headers.get('X-Ignored-Properties')?.split(', ')).toEqual([...names, 'shipping.discountCents'])
    }
  })

  test('a property of another type of event is ignored, and listed', async ({ server }) => {
    const click = { type: 'click', ref: 'nisa', couponCode: 'NISA', lineItems: [] }
    const { status, headers } = await server.request('POST', '/api/v1/events', { body: click })
    expect([status, headers.get('X-Ignored-Properties')]).toEqual([202, 'couponCode, lineItems'])
  })

  test('the header has a bounded length', async ({ server }) => {
    const names = Array.from({ length: 400 }, (_, i) => [`${'😀'.repeat(60)}${i}`, i])
    const { status, headers } = await convert(server, order(Object.fromEntries(names)))
    expect(status).toBe(201)
    expect(headers.get('X-Ignored-Properties')!.length).toBeLessThanOrEqual(1024)
    const none = await convert(server, order())
    expect(none.headers.get('X-Ignored-Properties')).toBeNull()
  })
})
