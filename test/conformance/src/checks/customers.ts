import { group } from '../check.ts'
import { after, type Context, type Json } from '../context.ts'

const DAY_MS = 86_400_000
const goods = { amountCents: 10_000, currency: 'USD' }

const signUp = (t: Context, body: Json) => t.post('/customers', body)

/** A customer who signed up with the code of a new affiliate. */
async function bound(t: Context, name: Json, program: Json = {}): Promise<{ affiliate: Json; customer: Json }> {
  const affiliate = await t.affiliateOf(program)
  const { data } = t.expect(await signUp(t, { ...name, couponCode: affiliate.discountCode }), 201)
  t.fields(data, { affiliateId: affiliate.id, programId: affiliate.campaignId, boundBy: 'SIGNUP' }, 'data')
  return { affiliate, customer: data }
}

const found = async (t: Context, query: Json): Promise<Json[]> => t.expect(await t.get('/customers', query), 200).data

/** A sign-up that binds nobody, for a reason, and a later one that binds. */
async function unboundAtFirst(t: Context, evidence: Json, reasonCode: string): Promise<void> {
  const [customerId, affiliate] = [t.id('c'), await t.sharedAffiliate()]
  const { data, attribution } = t.expect(await signUp(t, { customerId, ...evidence }), 201)
  t.equal([data.affiliateId, attribution.reasonCode], [null, reasonCode], '[affiliateId, reasonCode]')
  const later = t.expect(await signUp(t, { customerId, couponCode: affiliate.discountCode }), 201)
  t.equal([later.data.id, later.data.affiliateId], [data.id, affiliate.id], '[id, affiliateId]')
}

export const customers = group('customers', { title: 'Customers', page: 'concepts/customers.md' }, (rule) => {
  rule('first-wins', 'A bound customer stays bound: 200, X-Customer-Already-Bound, and nothing changes', async (t) => {
    const name = { customerId: t.id('c') }
    const { customer } = await bound(t, name)
    const reply = await signUp(t, { ...name, couponCode: (await t.sharedAffiliate()).discountCode })
    t.equal(t.expect(reply, 200).data, customer, 'data')
    t.equal(reply.headers.get('X-Customer-Already-Bound'), 'true', 'X-Customer-Already-Bound')
  })
  rule('unknown-code', 'A sign-up whose code is unknown binds nobody, and a later one binds', (t) =>
    unboundAtFirst(t, { couponCode: t.code() }, 'NO_MATCH'),
  )
  rule('no-evidence', 'A sign-up without evidence binds nobody, and a later one binds', (t) =>
    unboundAtFirst(t, {}, 'NO_EVIDENCE'),
  )
  rule('archived', 'A sign-up with the code of an archived affiliate binds nobody', async (t) => {
    const { id, discountCode } = await t.affiliate()
    t.expect(await t.delete('/affiliates', { query: { id } }), 200)
    await unboundAtFirst(t, { couponCode: discountCode }, 'AFFILIATE_ARCHIVED')
  })
  rule('rejected', 'A sign-up with the code of a rejected affiliate binds nobody', async (t) => {
    const { discountCode } = await t.affiliate({ status: 'REJECTED' })
    await unboundAtFirst(t, { couponCode: discountCode }, 'AFFILIATE_REJECTED')
  })
  rule('own-address', "A sign-up with the affiliate's own address binds nobody", async (t) => {
    const { discountCode, email } = await t.affiliate()
    await unboundAtFirst(t, { couponCode: discountCode, customerEmail: email.toUpperCase() }, 'SELF_REFERRAL')
  })
  rule('pending', 'A sign-up with the code of an affiliate who awaits approval binds', async (t) => {
    const { id, discountCode } = await t.affiliate({ status: 'PENDING' })
    const { data } = t.expect(await signUp(t, { customerId: t.id('c'), couponCode: discountCode }), 201)
    t.equal(data.affiliateId, id, 'affiliateId')
  })
  rule('click', 'A click binds within the window of the program, as for orders', async (t) => {
    const [affiliate, day] = [await t.affiliateOf({ cookieDurationDays: 7 }), t.day()]
    const click = { type: 'click', ref: affiliate.slug, occurredAt: day }
    const { id: clickId } = t.expect(await t.post('/events', click), 202)
    const ids = []
    for (const ms of [7 * DAY_MS, 7 * DAY_MS + 1]) {
      const body = { customerId: t.id('c'), clickId, occurredAt: after(day, ms) }
      ids.push(t.expect(await signUp(t, body), 201).data.affiliateId)
    }
    t.equal(ids, [affiliate.id, null], 'affiliateId')
  })
  rule('evidence', 'A bound customer is evidence for orders without a code', async (t) => {
    const name = { customerId: t.id('c') }
    const { affiliate } = await bound(t, name)
    const { attribution, commission } = await t.decide({ ...goods, ...name })
    t.equal(
      [attribution.affiliateId, attribution.method, commission.amountCents],
      [affiliate.id, 'CONNECTED_CUSTOMER', 1600],
      '[affiliateId, method, amountCents]',
    )
  })
  rule('by-address', 'A customer without an id is known by an address, in any case', async (t) => {
    const customerEmail = t.email('c')
    const { affiliate } = await bound(t, { customerEmail })
    const { attribution } = await t.decide({ ...goods, customerEmail: customerEmail.toUpperCase() })
    t.equal(attribution.affiliateId, affiliate.id, 'affiliateId')
  })
  rule('id-before-address', "customerId wins over another customer's address, and nothing is merged", async (t) => {
    const [customerId, customerEmail] = [t.id('c'), t.email('c')]
    const byId = await bound(t, { customerId })
    const byAddress = await bound(t, { customerEmail })
    const { attribution } = await t.decide({ ...goods, customerId, customerEmail })
    t.equal(attribution.affiliateId, byId.affiliate.id, 'affiliateId')
    const ids = [...(await found(t, { customerId })), ...(await found(t, { customerEmail }))].map(({ id }) => id)
    t.equal(ids, [byId.customer.id, byAddress.customer.id], 'id')
  })
  rule('completed', 'An order adds the id that the customer of its address lacks', async (t) => {
    const [customerId, customerEmail] = [t.id('c'), t.email('c')]
    const { affiliate, customer } = await bound(t, { customerEmail })
    await t.order({ ...goods, customerId, customerEmail })
    t.equal((await t.decide({ ...goods, customerId })).attribution.affiliateId, affiliate.id, 'affiliateId')
    t.equal((await found(t, { customerId }))[0]?.id, customer.id, 'id')
  })
  rule('after-coupon', 'A code wins over the binding, and the binding stays', async (t) => {
    const [name, other] = [{ customerId: t.id('c') }, await t.sharedAffiliate()]
    const { affiliate } = await bound(t, name)
    const { attribution } = await t.order({ ...goods, ...name, couponCode: other.discountCode })
    t.equal([attribution.affiliateId, attribution.method], [other.id, 'COUPON'], '[affiliateId, method]')
    t.equal((await found(t, name))[0]?.affiliateId, affiliate.id, 'affiliateId')
  })
  rule('after-link', 'A click wins over the binding', async (t) => {
    const [name, other] = [{ customerId: t.id('c') }, await t.sharedAffiliate()]
    await bound(t, name)
    const { id: clickId } = t.expect(await t.post('/events', { type: 'click', ref: other.slug }), 202)
    const { attribution } = await t.decide({ ...goods, ...name, clickId })
    t.equal([attribution.affiliateId, attribution.method], [other.id, 'DIRECT_LINK'], '[affiliateId, method]')
  })
  rule('unbound', 'An unbound customer is no evidence, and the recorded commission stays', async (t) => {
    const [name, externalOrderId] = [{ customerId: t.id('c') }, t.id('o')]
    const { customer } = await bound(t, name)
    await t.order({ ...goods, ...name, externalOrderId })
    t.expect(await t.delete('/customers', { query: { id: customer.id } }), 200)
    t.equal((await t.decide({ ...goods, ...name })).attribution.affiliateId, null, 'affiliateId')
    t.equal((await t.commissionOf(externalOrderId)).orderStatus, 'APPROVED', 'orderStatus')
  })
  rule('dry-run', 'A dry run decides and stores nothing', async (t) => {
    const [customerId, affiliate] = [t.id('c'), await t.sharedAffiliate()]
    const body = { customerId, couponCode: affiliate.discountCode }
    const { data } = t.expect(await t.post('/customers', body, { query: { dryRun: '1' } }), 200)
    t.equal([data.id, data.affiliateId], [null, affiliate.id], '[id, affiliateId]')
    t.equal((await found(t, { customerId })).length, 0, 'the number of customers')
  })
  rule('filters', 'The list filters by affiliate, program, id, and address', async (t) => {
    const name = { customerId: t.id('c'), customerEmail: t.email('c') }
    const { affiliate, customer } = await bound(t, name)
    await bound(t, { customerId: t.id('c') })
    const { customerId, customerEmail } = name
    for (const query of [
      { affiliateId: affiliate.id },
      { programId: affiliate.campaignId },
      { customerId },
      { customerEmail },
    ])
      t.equal(
        (await found(t, query)).map(({ id }) => id),
        [customer.id],
        `the list by ${Object.keys(query)}`,
      )
  })
  rule('orders', 'orders and firstOrderAt count every credited order, whoever was credited', async (t) => {
    const [name, other, day] = [{ customerId: t.id('c') }, await t.sharedAffiliate(), t.day()]
    await bound(t, name)
    const externalOrderId = t.id('o')
    await t.order({ ...goods, ...name, externalOrderId, couponCode: other.discountCode, occurredAt: day })
    await t.order({ ...goods, ...name, occurredAt: after(day, DAY_MS) })
    t.fields((await found(t, name))[0], { orders: 2, firstOrderAt: day }, 'data[0]')
    t.expect(await t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), amountCents: 10_000 }), 200)
    t.fields((await found(t, name))[0], { orders: 1, firstOrderAt: after(day, DAY_MS) }, 'data[0]')
  })
  rule('import', 'orders and firstOrderAt of another service come first', async (t) => {
    const [customerId, affiliate, firstOrderAt] = [t.id('c'), await t.sharedAffiliate(), t.day()]
    const imported = { customerId, couponCode: affiliate.discountCode, orders: 3, firstOrderAt }
    t.expect(await signUp(t, imported), 201)
    await t.order({ ...goods, customerId })
    t.fields((await found(t, { customerId }))[0], { boundBy: 'IMPORT', orders: 4, firstOrderAt }, 'data[0]')
  })
  rule('commission-ends', 'commissionEndsAt is the first order and the months that the terms pay', async (t) => {
    const name = { customerId: t.id('c') }
    const { affiliate, customer } = await bound(t, name)
    const rules = [{ when: { customerMonth: { from: 12 } }, commissionPercent: null }]
    const query = { id: affiliate.campaignId }
    await t.order({ ...goods, ...name, occurredAt: '2024-01-15T12:00:00.000Z' })
    const before = (await found(t, name))[0]?.commissionEndsAt
    t.expect(await t.call('PUT', '/api/v1/programs/terms', { query, body: { rules } }), 200)
    t.equal(
      [customer.commissionEndsAt, before, (await found(t, name))[0]?.commissionEndsAt],
      [null, null, '2025-01-15T12:00:00.000Z'],
      'commissionEndsAt',
    )
  })
})
