import { group } from '../check.ts'
import type { Context, Json } from '../context.ts'

const DAY_MS = 86_400_000
const ago = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString()

const set = async (t: Context, { campaignId }: Json, rules: Json[], more: Json = {}): Promise<Json> =>
  t.expect(await t.call('PUT', '/api/v1/programs/terms', { query: { id: campaignId }, body: { rules, ...more } }), 200)
    .data

/** What an order of 100.00 would earn; the program pays 16%. */
const earns = async (t: Context, { discountCode }: Json, more: Json = {}): Promise<Json> =>
  (await t.decide({ amountCents: 10_000, currency: 'USD', couponCode: discountCode, ...more })).commission

const pays = (commissionPercent: number | null, when: Json = {}): Json => ({ when, commissionPercent })

export const terms = group('terms', { title: 'Terms of programs', page: 'concepts/terms.md' }, (rule) => {
  rule('first', 'Version 1 of the terms has no rules and no hold', async (t) => {
    const { campaignId } = await t.affiliateOf({})
    const { data } = t.expect(await t.get('/programs/terms', { id: campaignId }), 200)
    t.fields(data, { version: 1, holdDays: 0, appliesTo: 'ORDERS', rules: [] }, 'data')
  })
  rule(
    'versions',
    'A PUT makes the next version, the same terms again do not, and a stale version returns 409',
    async (t) => {
      const affiliate = await t.affiliateOf({})
      const first = await set(t, affiliate, [pays(20)], { version: 1 })
      const again = await set(t, affiliate, [pays(20)])
      t.equal([first.version, again.version], [2, 2], 'version')
      const query = { id: affiliate.campaignId }
      const old = t.expect(await t.get('/programs/terms', { ...query, version: 1 }), 200).data
      t.fields(old, { version: 1, rules: [] }, 'version 1')
      t.expect(
        await t.call('PUT', '/api/v1/programs/terms', { query, body: { version: 1, rules: [] } }),
        409,
        'concurrent_change',
      )
    },
  )
  rule('invalid', 'A PUT without rules, and a rule with an invalid rate, return 400 and change nothing', async (t) => {
    const { campaignId: id } = await t.affiliateOf({})
    for (const [body, code] of [
      [undefined, 'invalid_body'],
      [{}, 'invalid_body'],
      [{ version: 1 }, 'invalid_body'],
      [{ rules: [pays(5), pays(6.125)] }, 'commission_percent_invalid'],
    ] as const)
      t.expect(await t.call('PUT', '/api/v1/programs/terms', { query: { id }, body }), 400, code)
    t.fields(t.expect(await t.get('/programs/terms', { id }), 200).data, { version: 1, rules: [] }, 'data')
  })
  rule('first-match', 'The first rule that matches counts, and without one the rate of the program', async (t) => {
    const affiliate = await t.affiliateOf({})
    await set(t, affiliate, [
      pays(30, { orderSubtotalCents: { from: 5000 } }),
      pays(20, { orderSubtotalCents: { from: 2000 } }),
    ])
    const cents = []
    for (const amountCents of [10_000, 4000, 1000]) cents.push((await earns(t, affiliate, { amountCents })).amountCents)
    t.equal(cents, [3000, 800, 160], 'amountCents')
  })
  rule('bounds', 'Bounds are inclusive', async (t) => {
    const affiliate = await t.affiliateOf({})
    await set(t, affiliate, [pays(50, { orderSubtotalCents: { from: 1000, to: 2000 } })])
    const cents = []
    for (const amountCents of [900, 1000, 2000, 2100])
      cents.push((await earns(t, affiliate, { amountCents })).amountCents)
    t.equal(cents, [144, 500, 1000, 336], 'amountCents')
  })
  rule('nothing', 'A rule that pays nothing ends the order as TERMS_NOT_MET', async (t) => {
    const affiliate = await t.affiliateOf({})
    await set(t, affiliate, [pays(null)])
    const { eligible, amountCents, restrictionReasonCode } = await earns(t, affiliate)
    t.equal([eligible, amountCents, restrictionReasonCode], [false, 0, 'TERMS_NOT_MET'], 'commission')
  })
  rule('affiliate', 'affiliateIds gives an affiliate a personal rate', async (t) => {
    const affiliate = await t.affiliateOf({})
    const other = await t.affiliate({ campaignId: affiliate.campaignId })
    await set(t, affiliate, [pays(25, { affiliateIds: [affiliate.id] })])
    t.equal([(await earns(t, affiliate)).amountCents, (await earns(t, other)).amountCents], [2500, 1600], 'amountCents')
    const { rules } = await set(t, affiliate, [pays(5, { affiliateIds: [affiliate.id, affiliate.id] })])
    t.equal(rules[0]?.when.affiliateIds, [affiliate.id], 'affiliateIds')
  })
  rule('customer-order', 'customerOrder counts the credited orders of the customer', async (t) => {
    const [affiliate, customerId] = [await t.affiliateOf({}), t.id('c')]
    await set(t, affiliate, [pays(5, { customerOrder: { from: 2 } })])
    const first = await earns(t, affiliate, { customerId })
    await t.order({ amountCents: 10_000, couponCode: affiliate.discountCode, customerId, occurredAt: ago(2) })
    t.equal([first.amountCents, (await earns(t, affiliate, { customerId })).amountCents], [1600, 500], 'amountCents')
  })
  rule('customer-month', "customerMonth counts from the customer's first credited order", async (t) => {
    const [affiliate, known, recent] = [await t.affiliateOf({}), t.id('c'), t.id('c')]
    await set(t, affiliate, [pays(null, { customerMonth: { from: 12 } })])
    const order = (customerId: string, days: number) =>
      t.order({ amountCents: 10_000, couponCode: affiliate.discountCode, customerId, occurredAt: ago(days) })
    await order(known, 400)
    await order(recent, 300)
    const reasons = []
    for (const customerId of [known, recent])
      reasons.push((await earns(t, affiliate, { customerId })).restrictionReasonCode)
    t.equal(reasons, ['TERMS_NOT_MET', null], 'restrictionReasonCode')
  })
  rule('refunded-order', 'An order that was refunded in full does not count', async (t) => {
    const [affiliate, customerId, externalOrderId] = [await t.affiliateOf({}), t.id('c'), t.id('o')]
    await set(t, affiliate, [pays(5, { customerOrder: { from: 2 } })])
    await t.order({
      externalOrderId,
      amountCents: 10_000,
      couponCode: affiliate.discountCode,
      customerId,
      occurredAt: ago(2),
    })
    t.expect(await t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), amountCents: 10_000 }), 200)
    t.equal((await earns(t, affiliate, { customerId })).amountCents, 1600, 'amountCents')
  })
  rule('affiliate-orders', 'affiliateOrders counts the orders of the affiliate before this one', async (t) => {
    const affiliate = await t.affiliateOf({})
    await set(t, affiliate, [pays(30, { affiliateOrders: { from: 1, period: 'ALL_TIME' } })])
    const before = await earns(t, affiliate)
    await t.order({ amountCents: 10_000, couponCode: affiliate.discountCode, occurredAt: ago(100) })
    t.equal([before.amountCents, (await earns(t, affiliate)).amountCents], [1600, 3000], 'amountCents')
  })
  rule('month', 'The period MONTH counts the calendar month of the order', async (t) => {
    const affiliate = await t.affiliateOf({})
    await set(t, affiliate, [pays(30, { affiliateOrders: { from: 1, period: 'MONTH' } })])
    await t.order({ amountCents: 10_000, couponCode: affiliate.discountCode, occurredAt: ago(100) })
    t.equal((await earns(t, affiliate)).amountCents, 1600, 'amountCents')
  })
  rule('affiliate-revenue', 'affiliateRevenueCents counts goods after discount', async (t) => {
    const affiliate = await t.affiliateOf({})
    await set(t, affiliate, [pays(30, { affiliateRevenueCents: { from: 9000, to: 9000, period: 'ALL_TIME' } })])
    const order = { amountCents: 10_000, discountCents: 1000, currency: 'USD', couponCode: affiliate.discountCode }
    await t.order({ ...order, occurredAt: ago(2) })
    t.equal((await earns(t, affiliate)).amountCents, 3000, 'amountCents')
  })
  rule('cap', 'maxCommissionCents caps the commission, and a refund leaves its share', async (t) => {
    const [affiliate, externalOrderId] = [await t.affiliateOf({}), t.id('o')]
    await set(t, affiliate, [{ ...pays(30), maxCommissionCents: 1000 }])
    await t.order({ externalOrderId, amountCents: 10_000, currency: 'USD', couponCode: affiliate.discountCode })
    const capped = { commissionAmountCents: 1000, commissionRateBps: 3000, termsVersion: 2, termsRule: 0 }
    t.fields(await t.commissionOf(externalOrderId), capped, 'commission')
    t.expect(await t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), amountCents: 2500 }), 200)
    t.equal((await t.commissionOf(externalOrderId)).commissionAmountCents, 750, 'commissionAmountCents')
  })
  rule('late-order', 'An order is decided by the version that was in force when it happened', async (t) => {
    const affiliate = await t.affiliateOf({})
    await set(t, affiliate, [pays(30)])
    t.equal((await earns(t, affiliate, { occurredAt: ago(1) })).amountCents, 1600, 'amountCents')
  })
  rule('hold', 'holdDays sets availableAt, and a batch does not take the commission before', async (t) => {
    const [affiliate, externalOrderId] = [await t.affiliateOf({}), t.id('o')]
    await set(t, affiliate, [], { holdDays: 30 })
    await t.order({ externalOrderId, amountCents: 10_000, couponCode: affiliate.discountCode })
    const { happenedAt, availableAt, termsVersion } = await t.commissionOf(externalOrderId)
    t.equal([Date.parse(availableAt) - Date.parse(happenedAt), termsVersion], [30 * DAY_MS, 2], 'availableAt')
    const body = { periodStart: ago(1), periodEnd: ago(-1), affiliateIds: [affiliate.id], dryRun: true }
    t.expect(await t.post('/payouts', body), 404, 'no_eligible_commissions')
  })
  rule('on-hold', 'The onHold of a batch counts what it leaves to a later one', async (t) => {
    const [affiliate, externalOrderId] = [await t.affiliateOf({}), t.id('o')]
    const order = { amountCents: 10_000, currency: 'USD', couponCode: affiliate.discountCode }
    await t.order({ ...order, occurredAt: ago(1) })
    await set(t, affiliate, [], { holdDays: 30 })
    await t.order({ ...order, externalOrderId })
    const { availableAt: nextAvailableAt } = await t.commissionOf(externalOrderId)
    const body = { periodStart: ago(2), periodEnd: ago(-1), affiliateIds: [affiliate.id], dryRun: true }
    const { totals, onHold } = t.expect(await t.post('/payouts', body), 200).data
    t.equal(totals.commissions, 1, 'totals.commissions')
    t.fields(onHold, { commissions: 1, commissionCents: 1600, nextAvailableAt }, 'onHold')
  })
  rule('type', 'The commission type of a program whose terms have rules cannot change', async (t) => {
    const affiliate = await t.affiliateOf({})
    await set(t, affiliate, [pays(20)])
    const flat = { commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 }
    t.expect(await t.patch(`/programs?id=${affiliate.campaignId}`, flat), 409, 'program_has_terms')
    await set(t, affiliate, [])
    const { data } = t.expect(await t.patch(`/programs?id=${affiliate.campaignId}`, flat), 200)
    t.equal(data.commissionType, 'FLAT_PER_ORDER', 'commissionType without rules')
    const { rules } = await set(t, affiliate, [pays(7.25)])
    t.equal(rules, [pays(7.25)], 'rules of a flat program')
  })
})
