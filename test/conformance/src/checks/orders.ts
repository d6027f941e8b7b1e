import { group } from '../check.ts'
import { after, type Json } from '../context.ts'
import { goods } from './owner.ts'

const page = 'guides/reconcile-orders.md'

export const orders = group('orders', { title: 'Orders', page }, (rule) => {
  rule('listed', 'A reported order is listed with its amounts, credited or not', async (t) => {
    const { id, discountCode } = await t.sharedAffiliate()
    for (const [couponCode, affiliateId] of [
      [discountCode, id],
      [t.code(), null],
    ]) {
      const [externalOrderId, orderName, happenedAt] = [t.id('o'), t.id('name'), t.day()]
      const amounts = { discountCents: 1000, shippingCents: 500, taxCents: 200, currency: 'EUR' }
      const order = { ...goods, ...amounts, externalOrderId, orderName, couponCode, occurredAt: happenedAt }
      const { commission, attribution } = await t.order(order)
      const { data, pagination } = t.expect(await t.get('/orders', { externalOrderId }), 200)
      t.equal([data.length, pagination.total], [1, 1], 'the orders and their total')
      const { createdAt: _, ...row } = data[0]
      t.equal(
        row,
        {
          orderId: `api:${externalOrderId}`,
          externalOrderId,
          orderName,
          orderCurrency: 'EUR',
          orderSubtotalCents: goods.amountCents,
          orderDiscountCents: 1000,
          orderShippingCents: 500,
          orderTaxCents: 200,
          attribution: { ...attribution, affiliateId },
          commissionId: commission.id,
          restrictionReasonCode: null,
          refundedCents: 0,
          canceledAt: null,
          happenedAt,
        },
        'order',
      )
    }
  })
  rule('filters', 'Orders are found by affiliate, period, stored id and name, newest first', async (t) => {
    const [affiliate, day, orderName] = [await t.affiliateOf({}), t.day(), t.id('name')]
    const [first, second] = [t.id('o'), t.id('o')]
    const order = { ...goods, couponCode: affiliate.discountCode }
    await t.order({ ...order, externalOrderId: first, orderName: `#${orderName}`, occurredAt: day })
    await t.order({ ...order, externalOrderId: second, amountCents: 0, occurredAt: after(day, 1000) })
    const affiliateId = affiliate.id
    for (const [query, expected] of [
      [{ affiliateId }, [second, first]],
      [{ affiliateId, credited: 'true' }, [second, first]],
      [{ affiliateId, credited: 'false' }, []],
      [{ affiliateId, from: after(day, 1) }, [second]],
      [{ affiliateId, to: day }, [first]],
      [{ affiliateId, externalOrderId: t.id('unknown') }, []],
      [{ externalOrderId: `api:${first}` }, [first]],
      [{ externalOrderId: `#${orderName}` }, [first]],
      [{ externalOrderId: orderName }, [first]],
    ] as const) {
      const { data } = t.expect(await t.get('/orders', query), 200)
      const ids = data.map((row: Json) => row.externalOrderId)
      t.equal(ids, expected, `orders by ${JSON.stringify(query)}`)
    }
    const [restricted] = t.expect(await t.get('/orders', { externalOrderId: second }), 200).data
    t.equal(restricted.restrictionReasonCode, 'ZERO_BASE', 'restrictionReasonCode')
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
    const occurredAt = t.day()
    t.expect(await t.post('/cancellations', { externalOrderId, occurredAt }), 200)
    const [order] = t.expect(await t.get('/orders', { externalOrderId }), 200).data
    t.equal([order.refundedCents, order.canceledAt], [100, occurredAt], 'refundedCents and canceledAt')
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
