import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AnalyticsRow } from '../../server/src/engine/analytics.ts'
import { type AnalyticsFacts, summarize as summarizeExactly } from '../../server/src/engine/analytics.ts'

const row = (given: Partial<AnalyticsRow> = {}): AnalyticsRow => ({
  affiliateId: 'A',
  happenedAt: '2026-10-20T12:00:00.000Z',
  orderStatus: 'APPROVED',
  trackingMethod: 'API',
  payoutBatchId: null,
  currency: 'USD',
  orderCurrency: 'USD',
  orderSubtotalCents: 10_000,
  commissionAmountCents: 1000,
  ...given,
})
const facts = (given: Partial<AnalyticsFacts> = {}): AnalyticsFacts => ({
  from: '2026-10-20T00:00:00.000Z',
  to: '2026-10-20T23:59:59.999Z',
  currency: 'USD',
  commissions: [],
  clicksByDay: [],
  clicksByAffiliate: [],
  ...given,
})
/** Sums that are known to be exact. */
const summarize = (given: AnalyticsFacts) => summarizeExactly(given)!
const totals = (...commissions: AnalyticsRow[]) => summarize(facts({ commissions })).totals

describe('what a commission counts for', () => {
  test.each([
    ['APPROVED', 1, 1000, 1000, 0],
    ['ACCEPTED', 1, 1000, 1000, 0],
    ['PAYABLE', 1, 1000, 1000, 0],
    ['PAID', 1, 1000, 1000, 0],
    ['PENDING', 1, 1000, 0, 1000],
    ['REJECTED', 0, 0, 0, 0],
    ['CANCELED', 0, 0, 0, 0],
    ['REFUNDED', 0, 0, 0, 0],
    ['REVERSED', 0, 0, 0, 0],
  ])('%s', (orderStatus, orders, commissionCents, approvedCommissionCents, pendingCommissionCents) => {
    expect(totals(row({ orderStatus }))).toMatchObject({
      orders,
      revenueCents: orders * 10_000,
      commissionCents,
      approvedCommissionCents,
      pendingCommissionCents,
      activeAffiliates: orders,
    })
  })

  test('an adjustment counts as commission, not as an order', () => {
    const back = row({ trackingMethod: 'ADJUSTMENT', commissionAmountCents: -300, orderSubtotalCents: 0 })
    expect(totals(row(), back)).toMatchObject({
      orders: 1,
      revenueCents: 10_000,
      commissionCents: 700,
      approvedCommissionCents: 1000,
    })
    expect(totals(back)).toMatchObject({ orders: 0, commissionCents: -300, activeAffiliates: 0 })
    expect(totals({ ...back, orderStatus: 'CANCELED' })).toMatchObject({ commissionCents: 0 })
  })

  test('a reversed payment and its adjustment add up to zero', () => {
    const reversed = row({ orderStatus: 'REVERSED', payoutBatchId: 'bat_1' })
    const back = row({ trackingMethod: 'ADJUSTMENT', commissionAmountCents: -1000, orderSubtotalCents: 0 })
    expect(totals(reversed, back)).toMatchObject({ orders: 0, revenueCents: 0, commissionCents: 0 })
    expect(totals(reversed)).toMatchObject({ commissionCents: 1000, approvedCommissionCents: 0 })
  })
})

describe('days', () => {
  const dates = (from: string, to: string, more: Partial<AnalyticsFacts> = {}) =>
    summarize(facts({ from, to, ...more })).dailyBreakdown.map((day) => day.date)

  test.each([
    ['2026-10-20T00:00:00.000Z', '2026-10-20T00:00:00.000Z', ['2026-10-20']],
    ['2026-10-20T23:59:59.999Z', '2026-10-21T00:00:00.000Z', ['2026-10-20', '2026-10-21']],
    ['2028-02-28T12:00:00.000Z', '2028-03-01T00:00:00.000Z', ['2028-02-28', '2028-02-29', '2028-03-01']],
    ['2026-12-31T00:00:00.000Z', '2027-01-01T00:00:00.000Z', ['2026-12-31', '2027-01-01']],
    ['0001-01-01T00:00:00.000Z', '0001-01-01T12:00:00.000Z', ['0001-01-01']],
  ])('the period from %s to %s contains the days %j', (from, to, expected) => {
    expect(dates(from, to)).toEqual(expected)
  })

  test('up to 731 days are filled with zeros; longer periods list only days with data', () => {
    const commissions = [row({ happenedAt: '2026-01-02T00:00:00.000Z' }), row({ orderStatus: 'REJECTED' })]
    const clicksByDay = [{ date: '2025-03-04', clicks: 2 }]
    const more = { commissions, clicksByDay }
    expect(dates('2025-01-01T00:00:00.000Z', '2027-01-01T23:59:59.999Z', more)).toHaveLength(731)
    expect(dates('2025-01-01T00:00:00.000Z', '2027-01-02T00:00:00.000Z', more)).toEqual(['2025-03-04', '2026-01-02'])
  })

  test('the days of a longer period are in order', () => {
    const clicksByDay = ['2026-05-01', '2024-01-01', '2026-01-01'].map((date) => ({ date, clicks: 1 }))
    const commissions = [row({ happenedAt: '2026-01-02T00:00:00.000Z' })]
    expect(dates('2020-01-01T00:00:00.000Z', '2027-01-02T00:00:00.000Z', { commissions, clicksByDay })).toEqual([
      '2024-01-01',
      '2026-01-01',
      '2026-01-02',
      '2026-05-01',
    ])
  })

  test('orders and clicks count on their day', () => {
    const { dailyBreakdown } = summarize(
      facts({
        from: '2026-10-19T00:00:00.000Z',
        commissions: [row(), row({ happenedAt: '2026-10-19T23:59:59.999Z', orderStatus: 'PENDING' })],
        clicksByDay: [{ date: '2026-10-20', clicks: 3 }],
      }),
    )
    const money = { orders: 1, revenueCents: 10_000, commissionCents: 1000 }
    expect(dailyBreakdown).toEqual([
      { date: '2026-10-19', clicks: 0, ...money, approvedCommissionCents: 0, pendingCommissionCents: 1000 },
      { date: '2026-10-20', clicks: 3, ...money, approvedCommissionCents: 1000, pendingCommissionCents: 0 },
    ])
  })
})

describe('conversion rate', () => {
  test.each([
    [1, 4, 0.25],
    [1, 3, 0.3333],
    [2, 3, 0.6667],
    [1, 20_000, 0.0001],
    [1, 20_001, 0],
    [3, 3, 1],
    [5, 2, 1],
    [2, 0, 0],
  ])('%i orders of %i clicks have the conversion rate %d', (orders, clicks, expected) => {
    const commissions = Array.from({ length: orders }, () => row())
    const given = facts({ commissions, clicksByDay: clicks ? [{ date: '2026-10-20', clicks }] : [] })
    expect(summarize(given).totals.conversionRate).toBe(expected)
  })
})

describe('the affiliates that earned most', () => {
  test('at most ten, by commission, then revenue, then id', () => {
    const commissions = Array.from({ length: 12 }, (_, i) =>
      row({
        affiliateId: `A${String(i).padStart(2, '0')}`,
        commissionAmountCents: 100 * (i % 4),
        orderSubtotalCents: i,
      }),
    )
    const top = summarize(facts({ commissions })).topAffiliates
    expect(top.map((one) => one.affiliateId)).toEqual([
      'A11',
      'A07',
      'A03',
      'A10',
      'A06',
      'A02',
      'A09',
      'A05',
      'A01',
      'A08',
    ])
    for (const order of ['CBA', 'ABC', 'BCA', 'EADBC']) {
      const equal = [...order].map((affiliateId) => row({ affiliateId }))
      const ids = summarize(facts({ commissions: equal })).topAffiliates.map((one) => one.affiliateId)
      expect(ids).toEqual([...order].sort())
    }
  })

  test('an affiliate with only clicks is active; unknown affiliates are not counted', () => {
    const clicksByAffiliate = ['A', 'B', 'C', null].map((affiliateId) => ({ affiliateId, clicks: 1 }))
    expect(summarize(facts({ clicksByAffiliate })).totals.activeAffiliates).toBe(3)
    expect(summarize(facts({ clicksByAffiliate, commissions: [row()] })).totals.activeAffiliates).toBe(3)
  })

  test('each has its clicks; clicks alone earn nothing', () => {
    const given = facts({
      commissions: [row(), row({ affiliateId: 'B', orderStatus: 'REJECTED' })],
      clicksByAffiliate: [
        { affiliateId: 'A', clicks: 4 },
        { affiliateId: 'C', clicks: 9 },
        { affiliateId: null, clicks: 5 },
      ],
      clicksByDay: [{ date: '2026-10-20', clicks: 18 }],
    })
    const { topAffiliates, totals } = summarize(given)
    expect(topAffiliates).toEqual([
      { affiliateId: 'A', orders: 1, clicks: 4, revenueCents: 10_000, commissionCents: 1000, conversionRate: 0.25 },
    ])
    expect(totals).toMatchObject({ activeAffiliates: 2, clicks: 18, conversionRate: 0.0556 })
  })
})

test('days and affiliates add up to the totals, for any rows', () => {
  const statuses = [
    'APPROVED',
    'ACCEPTED',
    'PAYABLE',
    'PAID',
    'PENDING',
    'REJECTED',
    'REVERSED',
    'CANCELED',
    'REFUNDED',
  ]
  const anyRow = fc.record({
    affiliateId: fc.constantFrom('A', 'B', 'C'),
    happenedAt: fc.constantFrom('2026-10-19T00:00:00.000Z', '2026-10-20T12:00:00.000Z', '2026-10-21T23:59:59.999Z'),
    orderStatus: fc.constantFrom(...statuses),
    trackingMethod: fc.constantFrom('API', 'STORE_ORDER', 'ADJUSTMENT'),
    payoutBatchId: fc.constantFrom(null, 'bat_1'),
    currency: fc.constantFrom('USD', 'EUR'),
    orderCurrency: fc.constantFrom('USD', 'JPY'),
    orderSubtotalCents: fc.nat(2_147_483_647),
    commissionAmountCents: fc.integer({ min: -2_147_483_647, max: 2_147_483_647 }),
  })
  fc.assert(
    fc.property(fc.array(anyRow, { maxLength: 40 }), (commissions) => {
      const period = { from: '2026-10-19T00:00:00.000Z', to: '2026-10-21T23:59:59.999Z' }
      const { totals, dailyBreakdown, topAffiliates } = summarize(facts({ ...period, commissions }))
      for (const name of ['orders', 'revenueCents', 'commissionCents'] as const) {
        expect(dailyBreakdown.reduce((sum, day) => sum + day[name], 0)).toBe(totals[name])
        expect(topAffiliates.reduce((sum, one) => sum + one[name], 0)).toBe(totals[name])
      }
      const counted = commissions.filter(
        (one) => one.trackingMethod !== 'ADJUSTMENT' && one.orderStatus === 'PENDING' && one.currency === 'USD',
      )
      expect(totals.pendingCommissionCents).toBe(counted.reduce((sum, one) => sum + one.commissionAmountCents, 0))
    }),
  )
})

test.each([
  ['at the limit', [9_007_199_254_740_990, 1], 9_007_199_254_740_991],
  ['one cent above it', [9_007_199_254_740_991, 1], null],
  ['above it in a partial sum only', [9_007_199_254_740_991, 3, -4], 9_007_199_254_740_990],
])('sums are exact or null: %s', (_, amounts, expected) => {
  const rows = amounts.map((commissionAmountCents) =>
    row({ commissionAmountCents, trackingMethod: 'ADJUSTMENT', orderSubtotalCents: 0 }),
  )
  expect(summarizeExactly(facts({ commissions: rows }))?.totals.commissionCents ?? null).toBe(expected)
})
