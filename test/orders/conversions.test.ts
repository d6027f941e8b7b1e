import { describe, expect } from 'vitest'
import { updateRows } from '../support/inspect.ts'
import { convert, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

let orders = 0
const order = (more: object = {}) => ({ externalOrderId: `o-${++orders}`, amountCents: 10_000, ...more })

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

test('201 for an order up to 5 minutes ahead of now, 400 a millisecond later', async ({ server, client }) => {
  await withAffiliate(server)
  const at = (ms: number) => new Date(server.clock.ms + ms).toISOString()
  const sent = order({ occurredAt: at(300_000), couponCode: 'NISA16' })
  await client.events.conversion(sent)
  const { data } = await client.commissions.list({ externalOrderId: sent.externalOrderId })
  expect(data[0]?.happenedAt).toBe(at(300_000))
  const reply = await convert(server, order({ occurredAt: at(300_001) }))
  expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([400, 'occurred_at_in_future'])
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

  test('the header has a bounded length', async ({ server }) => {
    const names = Array.from({ length: 400 }, (_, i) => [`${'😀'.repeat(60)}${i}`, i])
    const { status, headers } = await convert(server, order(Object.fromEntries(names)))
    expect(status).toBe(201)
    expect(headers.get('X-Ignored-Properties')!.length).toBeLessThanOrEqual(1024)
    const none = await convert(server, order())
    expect(none.headers.get('X-Ignored-Properties')).toBeNull()
  })
})
