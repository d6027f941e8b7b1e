import { group } from '../check.ts'
import { after, type Context, type Json } from '../context.ts'
import { connect, decided, goods } from './owner.ts'

/** Changes settings of the shop, and restores them. */
export async function withSettings(t: Context, change: Json, work: () => Promise<void>): Promise<void> {
  const before = t.expect(await t.owner('GET', '/settings'), 200).data
  const names = Object.keys(change)
  t.expect(await t.owner('PATCH', '/settings', change), 200)
  try {
    await work()
  } finally {
    await t.owner('PATCH', '/settings', Object.fromEntries(names.map((name) => [name, before[name]])))
  }
}

export const settings = group(
  'settings',
  {
    title: 'Settings',
    page: 'concepts/payouts.md#minimum',
    suite: 'owner',
    needs: ['owner', 'settings'],
    isExclusive: true,
  },
  (rule) => {
    rule(
      'minimum-payout',
      'A total below the minimum payout returns 409 payout_below_threshold, and claims nothing',
      async (t) => {
        const [affiliate, day, externalOrderId] = [await t.affiliate(), t.day(), t.id('o')]
        await t.order({ ...goods, externalOrderId, couponCode: affiliate.discountCode, occurredAt: day })
        await withSettings(
          t,
          { minimumPayoutCents: 1601 },
          async () =>
            void t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 409, 'payout_below_threshold'),
        )
        t.equal((await t.commissionOf(externalOrderId)).orderStatus, 'APPROVED', 'orderStatus')
        await withSettings(
          t,
          { minimumPayoutCents: 1600 },
          async () => void t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 200),
        )
      },
    )
    rule(
      'affiliate-minimum',
      'An affiliate below the minimum of a currency rolls forward until includeEarlier reaches it',
      async (t) => {
        const [small, large, day] = [await t.affiliate(), await t.affiliate(), t.day()]
        const next = after(day, 86_400_000)
        await t.order({ amountCents: 9994, couponCode: small.discountCode, occurredAt: day })
        await t.order({ ...goods, couponCode: large.discountCode, occurredAt: day })
        const both = { affiliateIds: [small.id, large.id] }
        await withSettings(t, { minimumAffiliatePayoutCentsByCurrency: { USD: 1600 } }, async () => {
          const batch = t.expect(await t.post('/payouts', t.periodOf(day, small, both)), 200).data
          t.equal([batch.totals.affiliates, batch.totals.netPayableCents], [1, 1600], 'affiliates and netPayableCents')
          const { reasons } = t.expect(
            await t.get('/payouts/unpaid', { periodStart: day, periodEnd: next, affiliateId: small.id }),
            200,
          )
          t.fields(reasons[0], { reason: 'BELOW_MINIMUM', netPayableCents: 1599 }, 'reasons[0]')
          await t.order({ amountCents: 100, couponCode: small.discountCode, occurredAt: next })
          t.expect(await t.post('/payouts', t.periodOf(next, small)), 409, 'payout_below_threshold')
          const rolled = t.expect(await t.post('/payouts', t.periodOf(next, small, { includeEarlier: true })), 200).data
          t.equal(
            [rolled.totals.commissions, rolled.totals.netPayableCents],
            [2, 1615],
            'commissions and netPayableCents',
          )
        })
      },
    )
    rule(
      'currency-minimum',
      'minimumPayoutCentsByCurrency has the minimum of other currencies, 0 by default',
      async (t) => {
        const [affiliate, day] = [await t.affiliate(), t.day()]
        await t.order({ ...goods, currency: 'EUR', couponCode: affiliate.discountCode, occurredAt: day })
        const dryRun = () => t.post('/payouts', t.periodOf(day, affiliate, { currency: 'EUR', dryRun: true }))
        t.equal(t.expect(await dryRun(), 200).data.minimumPayoutCents, 0, 'minimumPayoutCents')
        await withSettings(t, { minimumPayoutCentsByCurrency: { JPY: 1, EUR: 1601 } }, async () => {
          t.expect(await dryRun(), 409, 'payout_below_threshold')
          for (const wrong of [{ eur: 1 }, { EUR: -1 }, { EUR: 1.5 }, { EURO: 1 }, []])
            t.expect(await t.owner('PATCH', '/settings', { minimumPayoutCentsByCurrency: wrong }), 400)
        })
      },
    )
    rule(
      'time-zone',
      'Any key reads the time zone and the currency of the shop, and an owner sets a zone by its IANA name',
      async (t) => {
        const { data } = t.expect(await t.owner('GET', '/settings'), 200)
        await withSettings(t, { timeZone: 'europe/berlin' }, async () =>
          t.fields(
            t.expect(await t.get('/shop', {}, { key: await t.sharedKey('writes') }), 200).data,
            { timeZone: 'Europe/Berlin', currency: data.currency },
            'data',
          ),
        )
        for (const timeZone of ['Mars/Phobos', '+02:00', ''])
          t.expect(await t.owner('PATCH', '/settings', { timeZone }), 400, 'invalid_body')
      },
      { page: 'concepts/payouts.md#months' },
    )
    rule(
      'legacy-minimum',
      'A minimum of an earlier version that differs returns 409 payout_threshold_needs_reconciliation',
      async (t) => {
        const [affiliate, day] = [await t.affiliate(), t.day()]
        await t.order({ ...goods, couponCode: affiliate.discountCode, occurredAt: day })
        await withSettings(t, { minimumPayoutCents: 1000, legacyMinimumPayout: '25.50' }, async () => {
          t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 409, 'payout_threshold_needs_reconciliation')
          t.expect(await t.post('/payouts', t.periodOf(t.day(), affiliate)), 404, 'no_eligible_commissions')
        })
      },
    )
    rule(
      'tax',
      'Tax is withheld from each commission, rounded half up, and deducted from the payout',
      async (t) => {
        const [affiliate, day, externalOrderId] = [await t.affiliate(), t.day(), t.id('o')]
        await withSettings(
          t,
          { taxWithholdingBps: 1050 },
          async () =>
            void (await t.order({
              amountCents: 10_003,
              externalOrderId,
              couponCode: affiliate.discountCode,
              occurredAt: day,
            })),
        )
        t.fields(
          await t.commissionOf(externalOrderId),
          { commissionAmountCents: 1600, taxWithheldCents: 168 },
          'commission',
        )
        const { totals } = t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 200).data
        t.fields(totals, { commissionCents: 1600, taxWithheldCents: 168, netPayableCents: 1432 }, 'totals')
      },
      { page: 'concepts/payouts.md#create-a-batch' },
    )
    rule(
      'link-first',
      'With the precedence link-first, a click wins over a coupon',
      async (t) => {
        const [a, b] = [await t.affiliate(), await t.affiliate()]
        const clickId = t.expect(await t.post('/events', { type: 'click', ref: a.slug }), 202).id
        await withSettings(t, { attributionPrecedence: 'link-first' }, async () =>
          t.equal((await decided(t, { couponCode: b.discountCode, clickId })).affiliateId, a.id, 'affiliateId'),
        )
      },
      { page: 'concepts/attribution.md#ranking' },
    )
    rule(
      'customer-first',
      'With the precedence customer-first, a connected customer wins over a coupon',
      async (t) => {
        const [a, b, customerId] = [await t.affiliate(), await t.affiliate(), t.id('customer')]
        t.expect(await connect(t, 'customerId', customerId, a.id), 201)
        await withSettings(t, { attributionPrecedence: 'customer-first' }, async () =>
          t.equal((await decided(t, { couponCode: b.discountCode, customerId })).affiliateId, a.id, 'affiliateId'),
        )
      },
      { page: 'concepts/attribution.md#ranking' },
    )
    rule(
      'first-click',
      'With clickTouch FIRST, the first click of a session counts',
      async (t) => {
        const [a, b, sessionId, day] = [await t.affiliate(), await t.affiliate(), t.id('s'), t.day()]
        for (const [n, { slug }] of [a, b].entries())
          t.expect(
            await t.post('/events', { type: 'click', ref: slug, sessionId, occurredAt: after(day, n * 1000) }),
            202,
          )
        await withSettings(t, { clickTouch: 'FIRST' }, async () =>
          t.equal((await decided(t, { sessionId, occurredAt: after(day, 5000) })).affiliateId, a.id, 'affiliateId'),
        )
      },
      { page: 'concepts/attribution.md#ranking' },
    )
    rule(
      'flat-in-shop-currency',
      'A flat amount is in the currency of the shop, whatever the currency of the order; a percentage is in that one',
      async (t) => {
        const flat = await t.affiliateOf({ commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 })
        const { currency } = t.expect(await t.owner('GET', '/settings'), 200).data
        const orderCurrency = currency === 'EUR' ? 'CHF' : 'EUR'
        for (const [{ discountCode: couponCode }, expected] of [
          [flat, { currency, commissionAmountCents: 500 }],
          [await t.sharedAffiliate(), { currency: orderCurrency, commissionAmountCents: 1600 }],
        ] as const) {
          const externalOrderId = t.id('o')
          await t.order({ ...goods, externalOrderId, currency: orderCurrency, couponCode })
          t.fields(await t.commissionOf(externalOrderId), { ...expected, orderCurrency }, 'commission')
        }
      },
      { page: 'concepts/commissions.md#rate' },
    )
    rule(
      'api-disabled',
      'With apiEnabled false, /api/v1 returns 503 api_disabled with Retry-After; the docs page and /admin/v1 are available',
      async (t) => {
        await withSettings(t, { apiEnabled: false }, async () => {
          const denied = await t.until(async () => {
            const reply = await t.get('/programs', { limit: 1 })
            return reply.status === 503 ? reply : undefined
          })
          t.ok(denied, '/api/v1 is available')
          if (denied) t.expect(denied, 503, 'api_disabled')
          t.expect(await t.get('/docs', {}, { key: null }), 200)
        })
        const back = await t.until(async () =>
          (await t.get('/programs', { limit: 1 })).status === 200 ? true : undefined,
        )
        t.ok(back, '/api/v1 is not available again')
      },
      { page: 'reference/errors.md#api_disabled' },
    )
    rule(
      'validated',
      'Invalid settings return 400',
      async (t) => {
        for (const body of [
          { taxWithholdingBps: 10_001 },
          { minimumPayoutCents: -1 },
          { clickTouch: 'MIDDLE' },
          { attributionPrecedence: ['COUPON'] },
          { unknown: 1 },
        ])
          t.expect(await t.owner('PATCH', '/settings', body), 400)
      },
      { page: 'reference/errors.md#invalid_body' },
    )
  },
)
