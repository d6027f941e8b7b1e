import type { Define } from '../check.ts'
import type { Context, Json } from '../context.ts'
import { click, goods, nobody, won } from './evidence.ts'

/** Customers that a program binds with their first order. */
export function lifetime(rule: Define): void {
  const LIFETIME = { lifetimeCommission: true }
  const order = (t: Context, affiliate: Json, customer: Json, more: Json = {}) =>
    t.order({ ...goods, ...customer, couponCode: affiliate.discountCode, ...more })
  const connected = async (t: Context, customer: Json, program: Json = LIFETIME) => {
    const affiliate = await t.affiliateOf(program)
    await order(t, affiliate, customer)
    return affiliate
  }
  /** A customer that nobody knows. */
  const customerOf = (t: Context) => ({ customerId: t.id('customer'), customerEmail: t.email('customer') })

  rule('customer-id', 'With lifetimeCommission, later orders of a customer id are credited', async (t) => {
    const customer = customerOf(t)
    const { id } = await connected(t, customer)
    t.equal(
      await won(t, customer),
      { affiliateId: id, method: 'CONNECTED_CUSTOMER', confidence: 0.9, reasonCode: 'CONNECTED_CUSTOMER_ID_MATCH' },
      'attribution',
    )
    t.equal(await won(t, { customerId: customer.customerId.toUpperCase() }), nobody('NO_MATCH'), 'of another id')
  })
  rule('customer-email', 'Later orders of an email address are credited, in any case', async (t) => {
    const { customerEmail } = customerOf(t)
    const { id } = await connected(t, { customerEmail })
    t.equal(
      await won(t, { customerEmail: ` ${customerEmail.toUpperCase()} `, customerId: t.id('unknown') }),
      { affiliateId: id, method: 'CONNECTED_CUSTOMER', confidence: 0.85, reasonCode: 'CONNECTED_CUSTOMER_EMAIL_MATCH' },
      'attribution',
    )
  })
  rule('no-lifetime', 'Without lifetimeCommission customers are not connected, not even later', async (t) => {
    const customer = customerOf(t)
    await connected(t, customer, {})
    await connected(t, customer)
    t.equal((await won(t, customer)).affiliateId, null, 'affiliateId')
  })
  rule('restricted-connects-nobody', 'Orders that are restricted or credit nobody are not the first', async (t) => {
    const customer = customerOf(t)
    await order(t, await t.affiliateOf(LIFETIME, { status: 'PENDING' }), customer)
    await order(t, await t.affiliateOf(LIFETIME), customer, { amountCents: 0 })
    await t.order({ ...goods, ...customer })
    t.equal((await won(t, customer)).affiliateId, null, 'affiliateId')
    const { id } = await connected(t, customer)
    t.equal((await won(t, customer)).affiliateId, id, 'affiliateId after the first')
  })
  rule('first-affiliate', 'The first affiliate keeps a customer, whoever wins a later order', async (t) => {
    const [customer, other] = [customerOf(t), await t.affiliateOf(LIFETIME)]
    const { id } = await connected(t, customer)
    const second = t.email('second')
    const later = await order(t, other, customer, { customerEmail: second })
    t.equal(later.attribution.affiliateId, other.id, 'affiliateId of the later order')
    t.equal((await won(t, customer)).affiliateId, id, 'affiliateId of the customer')
    t.ok((await won(t, { customerEmail: second })).affiliateId !== other.id, 'the second address names the other one')
  })
  rule('guest', 'Dry runs, and orders without a customer, connect nobody', async (t) => {
    const [affiliate, customer] = [await t.affiliateOf(LIFETIME), customerOf(t)]
    await t.decide({ ...goods, ...customer, couponCode: affiliate.discountCode })
    for (const guest of [{}, { customerId: ' ', customerEmail: '' }]) await order(t, affiliate, guest)
    t.equal(t.expect(await t.get('/customers', { affiliateId: affiliate.id }), 200).data, [], 'the customers')
  })
  rule('link-over-customer', 'A click wins over a connected customer', async (t) => {
    const [customer, other] = [customerOf(t), await t.sharedAffiliate()]
    await connected(t, customer)
    t.equal(
      (await won(t, { ...customer, clickId: await click(t, { ref: other.slug }) })).affiliateId,
      other.id,
      'affiliateId',
    )
  })
}
