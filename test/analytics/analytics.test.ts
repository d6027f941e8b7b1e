import { describe, expect } from 'vitest'
import { addAffiliate, addCommission, addDebt, commissionRow } from '../payouts/rows.ts'
import { insertRows } from '../support/inspect.ts'
import { rejection } from '../support/rejection.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { type Client, testWithNewShop as test } from '../support/test.ts'

const OCTOBER = { from: '2026-10-01', to: '2026-10-31T23:59:59.999Z' }

const click = (server: TestServer, body: object) =>
  expectOk(
    server.request('POST', '/api/v1/events', { body: { type: 'click', occurredAt: '2026-10-20T12:00:00Z', ...body } }),
  )

test('200 orders and clicks of a real shop', async ({ server, client }) => {
  const { affiliate, program } = await withAffiliate(server)
  for (let i = 0; i < 4; i++) await click(server, { ref: affiliate.slug, sessionId: 's' })
  const order = { amountCents: 10_000, discountCents: 1000, couponCode: 'NISA16', occurredAt: '2026-10-20T15:04:05Z' }
  await expectOk(convert(server, { ...order, externalOrderId: '1' }))
  const sums = await client.analytics.get({ from: '2026-10-20', to: '2026-10-21' })
  const money = {
    orders: 1,
    revenueCents: 10_000,
    commissionCents: 1440,
    approvedCommissionCents: 1440,
    pendingCommissionCents: 0,
    clicks: 4,
  }
  expect(sums).toEqual({
    currency: 'USD',
    currencies: ['USD'],
    truncated: false,
    totals: { ...money, activeAffiliates: 1, conversionRate: 0.25 },
    dailyBreakdown: [
      { date: '2026-10-20', ...money },
      { date: '2026-10-21', ...Object.fromEntries(Object.keys(money).map((name) => [name, 0])) },
    ],
    topAffiliates: [
      {
        affiliateId: affiliate.id,
        name: 'Nisa Karim',
        orders: 1,
        clicks: 4,
        revenueCents: 10_000,
        commissionCents: 1440,
        conversionRate: 0.25,
      },
    ],
  })
  for (const filter of [{ affiliateId: affiliate.id }, { programId: program.id }])
    expect((await client.analytics.get({ from: '2026-10-20', to: '2026-10-21', ...filter })).totals).toEqual(
      sums.totals,
    )
  for (const filter of [{ affiliateId: 'aff_none' }, { programId: 'prg_none' }])
    expect((await client.analytics.get({ ...OCTOBER, ...filter })).totals).toMatchObject({ orders: 0, clicks: 0 })
})

test('page views are not clicks, and clicks on an unknown reference belong to no affiliate', async ({
  server,
  client,
}) => {
  await expectOk(
    server.request('POST', '/api/v1/events', {
      body: { type: 'page_view', url: 'https://shop.example', occurredAt: '2026-10-20' },
    }),
  )
  await click(server, { ref: 'nobody' })
  const { totals, topAffiliates } = await client.analytics.get(OCTOBER)
  expect([totals.clicks, totals.activeAffiliates, topAffiliates]).toEqual([1, 0, []])
})

describe('the period', () => {
  const orders = async (client: Client, query: object) => (await client.analytics.get(query)).totals.orders
  const at = (server: TestServer, ...instants: string[]) => {
    const affiliateId = addAffiliate(server)
    for (const happenedAt of instants) addCommission(server, { affiliateId, happenedAt })
  }

  test('bounds are inclusive, UTC offsets are applied, a date alone is midnight UTC', async ({ server, client }) => {
    at(
      server,
      '2026-10-01T00:00:00.000Z',
      '2026-10-31T00:00:00.000Z',
      '2026-10-31T23:59:59.999Z',
      '2026-11-01T00:00:00.000Z',
    )
    expect(await orders(client, OCTOBER)).toBe(3)
    expect(await orders(client, { from: '2026-10-01', to: '2026-10-31' })).toBe(2)
    expect(await orders(client, { from: '2026-10-01T02:00:00+02:00', to: '2026-10-31T00:59:59.999+01:00' })).toBe(1)
    expect(await orders(client, { from: '2026-10-31', to: '2026-10-31' })).toBe(1)
  })

  test('the default is the last 30 days, plus 5 minutes of clock skew', async ({ server, client }) => {
    at(
      server,
      '2026-10-03T11:59:59.999Z',
      '2026-10-03T12:00:00.000Z',
      '2026-11-02T12:05:00.000Z',
      '2026-11-02T12:05:00.001Z',
    )
    const { totals, dailyBreakdown } = await client.analytics.get()
    expect(totals.orders).toBe(2)
    expect([dailyBreakdown[0]?.date, dailyBreakdown.at(-1)?.date]).toEqual(['2026-10-03', '2026-11-02'])
  })

  test('to alone selects the 30 days before it; from alone ends now', async ({ server, client }) => {
    at(server, '2026-01-01T00:00:00.000Z', '2026-01-31T00:00:00.000Z', '2026-11-02T12:05:00.001Z')
    expect(await orders(client, { to: '2026-01-31' })).toBe(2)
    expect(await orders(client, { to: '2026-01-31T00:00:00.001Z' })).toBe(1)
    expect(await orders(client, { from: '2026-01-31' })).toBe(1)
    expect(await orders(client, { from: '2027-01-01' })).toBe(0)
  })

  test.for(['0001-01-01', '9999-12-31T23:59:59.999Z'])('the end of the calendar: %s', async (to, { client }) => {
    expect(await orders(client, { to })).toBe(0)
  })

  test('400 when reversed', async ({ client }) => {
    const reversed = client.analytics.get({ from: '2026-10-01T00:00:00Z', to: '2026-10-01T01:00:00+02:00' })
    expect(await rejection(reversed)).toEqual([400, 'period_invalid'])
  })
})

test('currencies are never summed together', async ({ server, client }) => {
  const affiliateId = addAffiliate(server)
  for (const currency of ['USD', 'EUR', 'EUR']) addCommission(server, { affiliateId, currency })
  const usual = await client.analytics.get(OCTOBER)
  expect([usual.currency, usual.currencies, usual.totals.orders]).toEqual(['USD', ['EUR', 'USD'], 1])
  const euro = await client.analytics.get({ ...OCTOBER, currency: 'EUR' })
  expect([euro.currency, euro.currencies, euro.totals.orders]).toEqual(['EUR', ['EUR', 'USD'], 2])
  const yen = await client.analytics.get({ ...OCTOBER, currency: 'JPY' })
  expect([yen.currency, yen.currencies, yen.totals.orders]).toEqual(['JPY', ['EUR', 'USD'], 0])
})

test('the newest 10,000 are read; truncated is true when there are more', async ({ server, client }) => {
  const affiliateId = addAffiliate(server)
  const row = () => commissionRow(server, { affiliateId, commissionAmountCents: 1 })
  insertRows(server, 'commissions', Array.from({ length: 10_000 }, row))
  expect(await client.analytics.get(OCTOBER)).toMatchObject({ truncated: false, totals: { commissionCents: 10_000 } })
  addCommission(server, { affiliateId, commissionAmountCents: 5000, happenedAt: '2026-10-01T00:00:00.000Z' })
  addCommission(server, { affiliateId, commissionAmountCents: 700, currency: 'EUR' })
  expect(await client.analytics.get(OCTOBER)).toMatchObject({ truncated: true, totals: { commissionCents: 10_000 } })
  addCommission(server, { affiliateId, commissionAmountCents: 101, happenedAt: '2026-10-30T00:00:00.000Z' })
  expect(await client.analytics.get(OCTOBER)).toMatchObject({ truncated: true, totals: { commissionCents: 10_100 } })
})

test('reversed commissions count, and archived affiliates keep their names', async ({ server, client }) => {
  const affiliateId = addAffiliate(server, { name: 'Gone', deletedAt: '2026-10-30T00:00:00.000Z' })
  addCommission(server, { affiliateId, orderStatus: 'PAID', payoutBatchId: 'bat_1' })
  addDebt(server, affiliateId, 300)
  const { totals, topAffiliates } = await client.analytics.get(OCTOBER)
  expect(totals).toMatchObject({ orders: 1, commissionCents: 700, approvedCommissionCents: 1000 })
  expect(topAffiliates).toMatchObject([{ name: 'Gone', commissionCents: 700 }])
})

test.for(['page=1&page=2', 'limit=%00', 'page=&limit=none&limit=', 'unknown=1&unknown=2'])(
  'ignored parameters never fail: %s',
  async (query, { server }) => {
    expect((await server.request('GET', `/api/v1/analytics?${query}`)).status).toBe(200)
  },
)

test('page and limit are accepted and ignored', async ({ server, client }) => {
  addCommission(server, { affiliateId: addAffiliate(server) })
  const { body } = await server.request('GET', '/api/v1/analytics?from=2026-10-01&to=2026-11-01&page=7&limit=1')
  expect(body).toEqual(await client.analytics.get({ from: '2026-10-01', to: '2026-11-01' }))
})

test('another shop sees zeros', async ({ server }) => {
  const { affiliate } = await withAffiliate(server)
  await click(server, { ref: affiliate.slug })
  addCommission(server, { affiliateId: affiliate.id })
  const stranger = server.clientOf((await server.createShop()).key)
  for (const query of [OCTOBER, { ...OCTOBER, affiliateId: affiliate.id }]) {
    const { totals, currencies, topAffiliates } = await stranger.analytics.get(query)
    expect([totals.orders, totals.clicks, totals.activeAffiliates, currencies, topAffiliates]).toEqual([
      0,
      0,
      0,
      [],
      [],
    ])
  }
})
