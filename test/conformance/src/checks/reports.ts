import { group, onPage } from '../check.ts'
import { after, type Context, type Json } from '../context.ts'

const page = 'reference/conformance.md#clicks-and-journeys'
const ERRORS = 'reference/errors.md'

const click = async (t: Context, body: Json): Promise<Json> =>
  t.expect(await t.post('/events', { type: 'click', ...body }), 202)
const journey = async (t: Context, query: Record<string, string | number>): Promise<Json> =>
  t.expect(await t.get('/journey', query), 200)

export const journeys = group('journeys', { title: 'Clicks and journeys', page }, (rule) => {
  const invalid = onPage(rule, `${ERRORS}#invalid_body`)
  const parameter = onPage(rule, `${ERRORS}#invalid_parameter`)
  rule('click-accepted', 'A click returns 202 with ok, a message and an id', async (t) => {
    const reply = await click(t, { ref: (await t.sharedAffiliate()).slug })
    t.ok(reply.ok === true && reply.message && reply.id, JSON.stringify(reply))
  })
  rule('click-of-nobody', 'A click with an unknown ref is stored', async (t) => {
    const sessionId = t.id('s')
    await click(t, { ref: t.id('unknown'), sessionId })
    t.fields(
      (await journey(t, { sessionId })).journey[0],
      { type: 'click', affiliateId: null, attributed: false },
      'entry',
    )
  })
  invalid(
    'click-requires-evidence',
    'A click without ref, affiliateCode, affiliateId and clickId returns 400',
    async (t) => {
      for (const body of [{}, { ref: '' }, { ref: ' ', affiliateCode: null, affiliateId: '', clickId: '' }])
        t.expect(await t.post('/events', { type: 'click', ...body }), 400, 'invalid_body')
    },
  )
  invalid('page-view', 'A page view returns 202, and requires a url', async (t) => {
    t.expect(await t.post('/events', { type: 'page_view', url: 'https://shop.example/' }), 202)
    for (const body of [{}, { url: null }, { url: ' ' }])
      t.expect(await t.post('/events', { type: 'page_view', ref: 'x', ...body }), 400, 'invalid_body')
  })
  invalid('invalid-values', 'Values of another type, or longer than documented, return 400', async (t) => {
    for (const body of [{ ref: 7 }, { ref: 'x'.repeat(256) }, { type: 'view' }, { occurredAt: '2026-10-31T00:00' }])
      t.expect(await t.post('/events', { type: 'click', ref: 'x', ...body }), 400, 'invalid_body')
  })
  rule(
    'future-click',
    'A click in the future, and a page view up to 5 minutes ahead, get the time of receipt',
    async (t) => {
      const [sessionId, url] = [t.id('s'), 'https://shop.example/']
      const soon = after(new Date().toISOString(), 240_000)
      for (const occurredAt of ['2099-01-01', soon]) await click(t, { ref: 'x', sessionId, occurredAt })
      t.expect(await t.post('/events', { type: 'page_view', url, sessionId, occurredAt: soon }), 202)
      const { journey: entries } = await journey(t, { sessionId })
      // The clock of a test shop may differ.
      if (!t.shop.isTestShop)
        t.ok(
          entries.every((entry: Json) => entry.occurredAt < soon),
          JSON.stringify(entries),
        )
      t.ok(entries.length === 3 && entries[2].occurredAt < '2098', `the last is at ${entries[2]?.occurredAt}`)
    },
    { page: 'concepts/attribution.md#click-window' },
  )
  rule(
    'future-page-view',
    'A page view more than 5 minutes in the future returns 400 occurred_at_in_future',
    async (t) => {
      const view = { type: 'page_view', url: 'https://shop.example/', occurredAt: '2099-01-01' }
      t.expect(await t.post('/events', view), 400, 'occurred_at_in_future')
    },
    { page: `${ERRORS}#occurred_at_in_future` },
  )
  parameter('dry-run-of-click', '`?dryRun=1` of a click returns 400', async (t) => {
    t.expect(await t.post('/events', { type: 'click', ref: 'x' }, { query: { dryRun: '1' } }), 400)
  })
  rule(
    'identifier-required',
    'The journey without sessionId, affiliateId and customerEmail returns 400 journey_identifier_required',
    async (t) => {
      t.expect(await t.get('/journey'), 400, 'journey_identifier_required')
    },
    { page: `${ERRORS}#journey_identifier_required` },
  )
  rule('in-order', 'The journey has clicks, page views and orders, oldest first', async (t) => {
    const { id, slug } = await t.sharedAffiliate()
    const [sessionId, externalOrderId] = [t.id('s'), t.id('o')]
    const start = new Date(Date.now() - 3_600_000).toISOString()
    await t.order({ externalOrderId, amountCents: 100, sessionId, occurredAt: after(start, 3000), ref: slug })
    t.expect(
      await t.post('/events', {
        type: 'page_view',
        url: 'https://shop.example/',
        sessionId,
        occurredAt: after(start, 2000),
      }),
      202,
    )
    await click(t, { ref: slug, sessionId, occurredAt: after(start, 1000), utmSource: 'mail' })
    const { journey: entries, total } = await journey(t, { sessionId })
    t.equal(
      [entries.map((entry: Json) => entry.type), total],
      [['click', 'page_view', 'conversion'], 3],
      'types and total',
    )
    t.fields(entries[0], { affiliateId: id, ref: slug, utmSource: 'mail', attributed: true }, 'the click')
    t.fields(entries[2], { externalOrderId, affiliateId: id, attributed: true }, 'the order')
  })
  rule('order-once', 'An order is in the journey once, with its latest decision and what became of it', async (t) => {
    const [{ id, discountCode: couponCode }, sessionId] = [await t.sharedAffiliate(), t.id('s')]
    const order = { externalOrderId: t.id('o'), amountCents: 1000, sessionId }
    const only = async () => {
      const { journey: entries } = await journey(t, { sessionId })
      t.equal(entries.length, 1, 'the number of entries')
      return entries[0]
    }
    await t.order(order)
    t.fields(await only(), { affiliateId: null, commissionId: null, refundedCents: null }, 'entry')
    const { commission } = await t.order({ ...order, couponCode })
    t.fields(await only(), { affiliateId: id, commissionId: commission.id, commissionStatus: 'APPROVED' }, 'entry')
    const { externalOrderId } = order
    t.expect(await t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), amountCents: 300 }), 200)
    t.expect(await t.post('/cancellations', { externalOrderId }), 200)
    t.fields(await only(), { commissionStatus: 'CANCELED', orderCurrency: 'USD', refundedCents: 300 }, 'entry')
  })
  rule('latest-of-many', 'With more entries than limit, the latest are returned, and total counts all', async (t) => {
    const [sessionId, start] = [t.id('s'), new Date(Date.now() - 3_600_000).toISOString()]
    const ids: string[] = []
    for (const n of [1, 2, 3])
      ids.push((await click(t, { ref: 'x', sessionId, occurredAt: after(start, n * 1000) })).id)
    const { journey: entries, total } = await journey(t, { sessionId, limit: 2 })
    t.equal([entries.map((entry: Json) => entry.id), total], [ids.slice(1), 3], 'ids and total')
  })
  for (const limit of [0, 501])
    parameter(`limit-${limit}`, `\`limit=${limit}\` of the journey returns 400`, async (t) => {
      t.expect(await t.get('/journey', { sessionId: 'x', limit }), 400, 'invalid_parameter')
    })
  rule(
    'limit-500',
    '`limit=500` of the journey is accepted',
    async (t) => void (await journey(t, { sessionId: t.id('s'), limit: 500 })),
  )
  rule('filters-combine', 'Several identifiers are combined with AND', async (t) => {
    const [{ id, slug }, other, sessionId] = [await t.sharedAffiliate(), await t.affiliate(), t.id('s')]
    await click(t, { ref: slug, sessionId })
    t.equal(
      [
        (await journey(t, { sessionId, affiliateId: id })).total,
        (await journey(t, { sessionId, affiliateId: other.id })).total,
      ],
      [1, 0],
      'totals',
    )
  })
  rule('customer-email', 'customerEmail ignores case and leading and trailing whitespace', async (t) => {
    const customerEmail = t.email('customer')
    await click(t, { ref: 'x', customerEmail })
    t.equal((await journey(t, { customerEmail: ` ${customerEmail.toUpperCase()} ` })).total, 1, 'total')
  })
  rule('last-90-days', 'The journey covers the last 90 days unless from and to are sent', async (t) => {
    const [sessionId, occurredAt] = [t.id('s'), t.day()]
    await click(t, { ref: 'x', sessionId, occurredAt })
    t.equal((await journey(t, { sessionId })).total, 0, 'total')
    t.equal((await journey(t, { sessionId, from: occurredAt, to: occurredAt })).total, 1, 'total of that instant')
  })
})

export const analytics = group(
  'analytics',
  { title: 'Analytics', page: 'reference/conformance.md#analytics' },
  (rule) => {
    /** An affiliate with two clicks, an approved order, a refunded one and one in euros, on one day. */
    const day = (t: Context) =>
      t.once('analytics', async () => {
        const affiliate = await t.affiliateOf({})
        const occurredAt = t.day()
        for (const n of [1, 2, 3]) await click(t, { ref: affiliate.slug, occurredAt: after(occurredAt, n) })
        const order = { couponCode: affiliate.discountCode, occurredAt: after(occurredAt, 1000) }
        await t.order({ ...order, amountCents: 10_000 })
        const externalOrderId = t.id('refunded')
        await t.order({ ...order, externalOrderId, amountCents: 5000 })
        t.expect(await t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), amountCents: 5000 }), 200)
        await t.order({ ...order, amountCents: 7000, currency: 'EUR' })
        return {
          affiliate,
          query: { affiliateId: affiliate.id, from: occurredAt, to: after(occurredAt, 2 * 86_400_000) },
        }
      })
    const read = async (t: Context, more: Json = {}) =>
      t.expect(await t.get('/analytics', { ...(await day(t)).query, currency: 'USD', ...more }), 200)

    rule(
      'totals',
      'Totals count orders, revenue, commissions and clicks of one currency; refunded orders do not count',
      async (t) => {
        const { totals } = await read(t)
        t.equal(
          totals,
          {
            orders: 1,
            revenueCents: 10_000,
            commissionCents: 1600,
            approvedCommissionCents: 1600,
            pendingCommissionCents: 0,
            clicks: 3,
            activeAffiliates: 1,
            conversionRate: 0.3333,
          },
          'totals',
        )
      },
    )
    rule('currency', '`currency` selects the currency, and `currencies` lists those of the period', async (t) => {
      const { currency, currencies, totals } = await read(t, { currency: 'EUR' })
      t.equal(
        [currency, [...currencies].sort(), totals.revenueCents, totals.commissionCents],
        ['EUR', ['EUR', 'USD'], 7000, 1120],
        'currency, currencies, revenueCents and commissionCents',
      )
    })
    rule('days', 'dailyBreakdown has one row per day, oldest first, also for days without data', async (t) => {
      const { dailyBreakdown } = await read(t)
      const { query } = await day(t)
      const days = [0, 1, 2].map((n) => after(query.from, n * 86_400_000).slice(0, 10))
      t.equal(
        dailyBreakdown.map((json: Json) => json.date),
        days,
        'dates',
      )
      t.equal(
        dailyBreakdown.map((json: Json) => json.revenueCents),
        [10_000, 0, 0],
        'revenueCents',
      )
    })
    rule('top-affiliates', 'topAffiliates has at most 10 affiliates, highest commission first', async (t) => {
      const { topAffiliates } = await read(t)
      t.fields(
        topAffiliates[0],
        {
          affiliateId: (await day(t)).affiliate.id,
          orders: 1,
          clicks: 3,
          commissionCents: 1600,
          conversionRate: 0.3333,
        },
        'topAffiliates[0]',
      )
      const all = t
        .expect(await t.get('/analytics', { from: '1975-01-01' }), 200)
        .topAffiliates.map((topAffiliate: Json) => topAffiliate.commissionCents)
      t.ok(all.length <= 10, `there are ${all.length}`)
      t.equal(
        all,
        [...all].sort((a: number, b: number) => b - a),
        'commissionCents',
      )
    })
    rule('default-period', 'The default is the last 30 days', async (t) => {
      const { dailyBreakdown } = t.expect(await t.get('/analytics'), 200)
      // The first and the last day are incomplete, and orders may be 5 minutes ahead of the clock.
      t.ok([30, 31, 32].includes(dailyBreakdown.length), `there are ${dailyBreakdown.length} days`)
    })
    rule('pages-are-ignored', '`page` and `limit` are accepted with any value, and ignored', async (t) => {
      t.equal((await read(t, { page: 'x', limit: 0 })).totals, (await read(t)).totals, 'totals')
    })
    rule('pending', 'Pending commissions count as pendingCommissionCents', async (t) => {
      const affiliate = await t.affiliateOf({ autoApproveOrder: false })
      const occurredAt = t.day()
      await t.order({ amountCents: 1000, couponCode: affiliate.discountCode, occurredAt })
      const { totals } = t.expect(
        await t.get('/analytics', { affiliateId: affiliate.id, from: occurredAt, to: occurredAt, currency: 'USD' }),
        200,
      )
      t.fields(totals, { commissionCents: 160, approvedCommissionCents: 0, pendingCommissionCents: 160 }, 'totals')
    })
    rule('program-filter', '`programId` selects a program', async (t) => {
      const { affiliate, query } = await day(t)
      const { affiliateId: _, ...period } = query
      const { totals } = t.expect(
        await t.get('/analytics', { ...period, programId: affiliate.campaignId, currency: 'USD' }),
        200,
      )
      t.equal([totals.orders, totals.commissionCents], [1, 1600], 'orders and commissionCents')
    })
  },
)

export const backtests = group(
  'backtests',
  { title: 'Backtests', page: 'reference/conformance.md#analytics', suite: 'owner', needs: ['owner'] },
  (rule) => {
    rule('changed', 'A backtest tells what other settings would have paid, and changes nothing', async (t) => {
      const [a, b, day] = [await t.affiliateOf({}), await t.affiliate(), t.day()]
      const { id: clickId } = await click(t, { ref: b.slug, occurredAt: day })
      const order = { amountCents: 10_000, currency: 'USD', couponCode: a.discountCode, clickId }
      const externalOrderId = t.id('o')
      await t.order({ ...order, externalOrderId, occurredAt: after(day, 1000) })
      const row = await t.commissionOf(externalOrderId)
      const run = async (settings: Json): Promise<Json> =>
        t.expect(await t.owner('POST', '/backtests', { from: day, to: after(day, 1000), ...settings }), 200).data
      const rate = await run({ programId: a.campaignId, commissionPercent: 20 })
      t.fields(rate, { orders: 1, changed: 1, truncated: false }, 'data')
      const totals = [{ currency: 'USD', currentCents: 1600, proposedCents: 2000, deltaCents: 400 }]
      t.equal(rate.totals, totals, 'totals')
      const { affiliates } = await run({ attributionPrecedence: 'link-first' })
      t.equal(
        affiliates.map((one: Json) => [one.affiliateId, one.deltaCents]).sort(),
        [
          [a.id, -1600],
          [b.id, 1600],
        ].sort(),
        'affiliates',
      )
      t.equal((await run({ clickTouch: 'LAST' })).changed, 0, 'changed with the current settings')
      t.equal(await t.commissionOf(externalOrderId), row, 'commission')
    })
    onPage(rule, `${ERRORS}#invalid_body`)(
      'invalid',
      'A backtest without settings, or of an unknown program, is rejected',
      async (t) => {
        t.expect(await t.owner('POST', '/backtests', {}), 400, 'invalid_body')
        const unknown = { programId: t.id('unknown'), cookieDurationDays: 1 }
        t.expect(await t.owner('POST', '/backtests', unknown), 404, 'program_not_found')
        const rules = [{ when: {}, commissionPercent: 101 }]
        t.expect(await t.owner('POST', '/backtests', { rules }), 400, 'commission_percent_invalid')
      },
    )
  },
)
