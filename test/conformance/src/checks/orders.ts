import { group } from '../check.ts'
import { goods } from './owner.ts'

const page = 'guides/reconcile-orders.md'

export const orders = group('orders', { title: 'Orders', page }, (rule) => {
  rule('listed', 'A reported order is listed with its amounts, credited or not', async (t) => {
    const { id, discountCode } = await t.sharedAffiliate()
    for (const [couponCode, affiliateId] of [
      [discountCode, id],
      [t.code(), null],
    ]) {
      const externalOrderId = t.id('o')
      const { commission } = await t.order({ ...goods, externalOrderId, couponCode })
      const { data, pagination } = t.expect(await t.get('/orders', { externalOrderId }), 200)
      t.equal([data.length, pagination.total], [1, 1], 'the orders and their total')
      t.fields(
        data[0],
        { externalOrderId, commissionId: commission.id, orderSubtotalCents: goods.amountCents, canceledAt: null },
        'order',
      )
      t.equal(data[0].attribution.affiliateId, affiliateId, 'attribution.affiliateId')
    }
  })
  rule('never-reported', 'An order that was never reported is in no list, and its explanation is 404', async (t) => {
    const externalOrderId = t.id('unknown')
    t.equal(t.expect(await t.get('/orders', { externalOrderId }), 200).data, [], 'the orders')
    t.expect(await t.get('/orders/explanation', { externalOrderId }), 404, 'order_not_found')
  })
  rule('credited', 'credited selects orders with or without an affiliate', async (t) => {
    const externalOrderId = t.id('o')
    await t.order({ ...goods, externalOrderId, couponCode: t.code() })
    const found = async (credited: string) =>
      t.expect(await t.get('/orders', { externalOrderId, credited }), 200).data.length
    t.equal([await found('true'), await found('false')], [0, 1], 'the orders with credited=true and false')
    t.expect(await t.get('/orders', { credited: 'maybe' }), 400, 'invalid_parameter')
  })
  rule('refunds', 'A refund and a cancellation of an order are listed with it', async (t) => {
    const externalOrderId = t.id('o')
    await t.order({ ...goods, externalOrderId, couponCode: (await t.sharedAffiliate()).discountCode })
    t.expect(await t.post('/refunds', { externalOrderId, externalRefundId: 'r', amountCents: 100 }), 200)
    t.expect(await t.post('/cancellations', { externalOrderId }), 200)
    const [order] = t.expect(await t.get('/orders', { externalOrderId }), 200).data
    t.equal([order.refundedCents, typeof order.canceledAt], [100, 'string'], 'refundedCents and canceledAt')
  })
  rule('explanation', 'The explanation tells why nobody was credited, without the customer', async (t) => {
    const [externalOrderId, couponCode, customerEmail] = [t.id('o'), t.code(), t.email()]
    await t.order({ ...goods, externalOrderId, couponCode, customerEmail })
    const { data } = t.expect(await t.get('/orders/explanation', { externalOrderId }), 200)
    t.equal(data.outcome, 'NOBODY', 'outcome')
    t.ok(JSON.stringify(data).includes(couponCode), 'the explanation does not name the code')
    t.ok(!JSON.stringify(data).includes(customerEmail), 'the explanation contains the address of the customer')
  })
})
