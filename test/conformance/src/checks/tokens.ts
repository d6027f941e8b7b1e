import { group } from '../check.ts'
import type { Context, Json } from '../context.ts'

const page = 'guides/affiliate-portal.md#create-a-token'

/** Requests with the token of an affiliate. */
const readerOf = async (t: Context, { id }: Json, body: Json = {}): Promise<{ key: string }> => {
  const { data } = t.expect(await t.post('/affiliates/tokens', { affiliateId: id, ...body }), 200)
  return { key: data.token }
}
const balancesOf = async (t: Context, { id }: Json): Promise<Json[]> =>
  t.expect(await t.get('/affiliates/balance', { affiliateId: id }), 200).data.balances

export const tokens = group('tokens', { title: 'Affiliate tokens and balances', page }, (rule) => {
  rule('reads-own', 'A token reads what belongs to its affiliate, and nothing of others', async (t) => {
    const [affiliate, other] = [await t.affiliate(), await t.affiliate()]
    const key = await readerOf(t, affiliate)
    for (const { id, discountCode: couponCode } of [affiliate, other]) {
      await t.order({ amountCents: 1000, couponCode })
      t.expect(await t.post('/affiliates/aliases', { affiliateId: id, kind: 'CODE', value: t.id() }), 200)
    }
    for (const path of ['/affiliates', '/affiliates/aliases', '/affiliates/balance', '/commissions', '/coupons']) {
      const { text } = await t.get(path, {}, key)
      t.ok(text.includes(affiliate.id), `${path} does not contain the affiliate: ${text.slice(0, 200)}`)
      t.ok(!text.includes(other.id), `${path} contains another affiliate`)
    }
    t.equal(t.expect(await t.get('/analytics', {}, key), 200).totals.orders, 1, 'totals.orders')
    t.expect(await t.get('/commissions', { affiliateId: other.id }, key), 403, 'scope_missing')
  })
  rule('writes-nothing', 'A token changes nothing, and reads nothing else: 403 scope_missing', async (t) => {
    const affiliate = await t.affiliate()
    const key = await readerOf(t, affiliate)
    t.expect(await t.patch(`/affiliates?id=${affiliate.id}`, { phone: '1' }, key), 403, 'scope_missing')
    for (const path of ['/programs', '/payouts', '/orders', '/customers'])
      t.expect(await t.get(path, {}, key), 403, 'scope_missing')
  })
  rule('ended', 'A token ends when its affiliate is rejected or archived, and a changed one is unknown', async (t) => {
    for (const end of [
      (path: string) => t.patch(path, { status: 'REJECTED' }),
      (path: string) => t.delete(path),
    ] as const) {
      const affiliate = await t.affiliate()
      const { key } = await readerOf(t, affiliate)
      t.expect(await t.get('/affiliates', {}, { key: `${key}x` }), 403, 'key_unknown')
      t.expect(await end(`/affiliates?id=${affiliate.id}`), 200)
      t.expect(await t.get('/affiliates', {}, { key }), 403, 'key_revoked')
    }
  })
  rule('lifetime', 'expiresInSeconds sets expiresAt, and is at most a day', async (t) => {
    const body = { affiliateId: (await t.sharedAffiliate()).id, expiresInSeconds: 60 }
    const { data } = t.expect(await t.post('/affiliates/tokens', body), 200)
    const left = Date.parse(data.expiresAt) - Date.now()
    t.ok(left > 0 && left < 600_000, `expiresAt is ${data.expiresAt}`)
    t.expect(await t.post('/affiliates/tokens', { ...body, expiresInSeconds: 86_401 }), 400, 'invalid_body')
  })
  rule('balance', 'The balance has what is pending, approved, and in a batch, by currency', async (t) => {
    const affiliate = await t.affiliateOf({ autoApproveOrder: false })
    const order = { amountCents: 10_000, couponCode: affiliate.discountCode, occurredAt: t.day() }
    t.equal(await balancesOf(t, affiliate), [], 'balances')
    for (const currency of ['USD', 'EUR']) await t.order({ ...order, currency })
    t.expect(await t.patch(`/programs?id=${affiliate.campaignId}`, { autoApproveOrder: true }), 200)
    for (const amountCents of [5000, 2500]) await t.order({ ...order, currency: 'USD', amountCents })
    const none = { pendingCents: 0, approvedCents: 0, onHoldCents: 0, batchedCents: 0, taxWithheldCents: 0 }
    const euros = { ...none, currency: 'EUR', pendingCents: 1600 }
    const dollars = { ...none, currency: 'USD', pendingCents: 1600 }
    t.equal(await balancesOf(t, affiliate), [euros, { ...dollars, approvedCents: 1200 }], 'balances')
    const { id } = t.expect(await t.post('/payouts', t.periodOf(order.occurredAt, affiliate)), 200).data
    t.equal(await balancesOf(t, affiliate), [euros, { ...dollars, batchedCents: 1200 }], 'balances')
    await t.pay(id)
    t.equal(await balancesOf(t, affiliate), [euros, dollars], 'balances')
  })
})
