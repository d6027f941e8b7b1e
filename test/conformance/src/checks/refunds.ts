import { type Define, group } from '../check.ts'
import type { Context, Json } from '../context.ts'

const AMOUNT = 'concepts/refunds.md#amount'
const ARRIVAL = 'concepts/refunds.md#order-of-arrival'
const PAID = 'concepts/refunds.md#before-and-after-payment'
const CANCELED = 'concepts/refunds.md#canceled-refunds'
const CANCEL = 'concepts/refunds.md#cancellations'

const refund = async (t: Context, externalOrderId: string, body: Json): Promise<Json> =>
  t.expect(await t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), ...body }), 200)
const cancel = async (t: Context, externalOrderId: string): Promise<Json> =>
  t.expect(await t.post('/cancellations', { externalOrderId }), 200)

/** Records an order of 90.00 and returns its id. */
async function ordered(t: Context, given: Json = {}, program?: Json): Promise<string> {
  const { discountCode } = program ? await t.affiliateOf(program) : await t.sharedAffiliate()
  const externalOrderId = t.id('o')
  await t.order({ externalOrderId, amountCents: 9000, couponCode: discountCode, ...given })
  return externalOrderId
}

export const refunds = group('refunds', { title: 'Refunds and cancellations', page: AMOUNT }, (rule) => {
  rule('lowers-the-commission', 'A refund of 30.00 of 90.00 at 16% leaves 9.60', async (t) => {
    const order = await ordered(t)
    const { outcome, changed, refund: applied, commission } = await refund(t, order, { amountCents: 3000 })
    t.equal(
      [outcome, changed, applied.commissionCents, commission.amountCents],
      ['applied', true, -480, 960],
      'outcome, changed, commissionCents and amountCents',
    )
    t.fields(await t.commissionOf(order), { commissionAmountCents: 960, orderStatus: 'APPROVED' }, 'commission')
  })
  rule('refunded', 'When nothing is left, the commission is REFUNDED with amount 0', async (t) => {
    const order = await ordered(t)
    for (const _ of [1, 2, 3]) await refund(t, order, { amountCents: 3000 })
    t.fields(await t.commissionOf(order), { commissionAmountCents: 0, orderStatus: 'REFUNDED' }, 'commission')
  })
  rule('sum-decides', 'Two refunds have the result of one refund of their sum', async (t) => {
    const [parts, whole] = [await ordered(t, { amountCents: 9999 }), await ordered(t, { amountCents: 9999 })]
    for (const amountCents of [33, 34, 1717]) await refund(t, parts, { amountCents })
    await refund(t, whole, { amountCents: 33 + 34 + 1717 })
    t.equal(
      (await t.commissionOf(parts)).commissionAmountCents,
      (await t.commissionOf(whole)).commissionAmountCents,
      'commissionAmountCents',
    )
  })
  rule('recorded-rate', 'A refund uses the recorded rate, not the rate of the program now', async (t) => {
    const program = await t.program()
    const { discountCode } = await t.affiliate({ campaignId: program.id })
    const order = await ordered(t, { couponCode: discountCode })
    t.expect(await t.patch(`/programs?id=${program.id}`, { commissionPercent: 50 }), 200)
    await refund(t, order, { amountCents: 3000 })
    t.equal((await t.commissionOf(order)).commissionAmountCents, 960, 'commissionAmountCents')
  })
  rule('flat-per-order', 'FLAT_PER_ORDER is unchanged until everything is refunded', async (t) => {
    const order = await ordered(t, {}, { commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 })
    await refund(t, order, { amountCents: 8999 })
    t.equal((await t.commissionOf(order)).commissionAmountCents, 500, 'commissionAmountCents with 0.01 left')
    await refund(t, order, { amountCents: 1 })
    t.fields(await t.commissionOf(order), { commissionAmountCents: 0, orderStatus: 'REFUNDED' }, 'commission')
  })
  rule('flat-per-item', 'FLAT_PER_ITEM pays the remaining items', async (t) => {
    const lineItems = [{ productId: '1', variantId: '11', quantity: 3, priceCents: 3000 }]
    const order = await ordered(
      t,
      { amountCents: undefined, lineItems },
      { commissionType: 'FLAT_PER_ITEM', commissionPercent: 2.5 },
    )
    await refund(t, order, { lineItems: [{ variantId: '11', quantity: 1 }] })
    t.equal((await t.commissionOf(order)).commissionAmountCents, 500, 'commissionAmountCents')
  })
  rule('by-line-items', 'Returned line items count at their sale price', async (t) => {
    const lineItems = [
      { productId: '1', variantId: '11', quantity: 2, priceCents: 3000 },
      { productId: '2', variantId: '22', priceCents: 3000 },
    ]
    const order = await ordered(t, { amountCents: undefined, lineItems })
    await refund(t, order, { lineItems: [{ variantId: '11', quantity: 1 }] })
    t.equal((await t.commissionOf(order)).commissionAmountCents, 960, 'commissionAmountCents')
  })
  rule('once', 'A refund id that was reported before changes nothing', async (t) => {
    const order = await ordered(t)
    const body = { externalRefundId: t.id('r'), amountCents: 3000 }
    await refund(t, order, body)
    t.equal((await refund(t, order, { ...body, amountCents: 6000 })).changed, false, 'changed')
    t.equal((await t.commissionOf(order)).commissionAmountCents, 960, 'commissionAmountCents')
  })
  rule(
    'more-than-left',
    'A refund of more than is left takes what is left, with the warning refund_exceeds_order',
    async (t) => {
      const order = await ordered(t)
      t.equal((await refund(t, order, { amountCents: 10_000 })).warning, 'refund_exceeds_order', 'warning')
      t.fields(await t.commissionOf(order), { commissionAmountCents: 0, orderStatus: 'REFUNDED' }, 'commission')
    },
    { page: 'concepts/refunds.md#refunds' },
  )
  rule(
    'required',
    'A refund requires the order, the refund id, and an amount or line items',
    async (t) => {
      const [externalOrderId, externalRefundId, amountCents] = [t.id('o'), t.id('r'), 100]
      for (const body of [
        { externalRefundId, amountCents },
        { externalOrderId, amountCents },
        { externalOrderId, externalRefundId },
      ])
        t.expect(await t.post('/refunds', body), 400, 'invalid_body')
    },
    { page: 'reference/errors.md#invalid_body' },
  )
  rule(
    'other-currency',
    'A refund in another currency returns 409 refund_currency_mismatch',
    async (t) => {
      const externalOrderId = await ordered(t)
      t.expect(
        await t.post('/refunds', {
          externalOrderId,
          externalRefundId: t.id('r'),
          amountCents: 100,
          currency: 'EUR',
        }),
        409,
        'refund_currency_mismatch',
      )
    },
    { page: 'reference/errors.md#refund_currency_mismatch' },
  )
  rule('dry-run', '`?dryRun=1` of a refund returns what it would do, and records nothing', async (t) => {
    const externalOrderId = await ordered(t)
    const reply = await t.post(
      '/refunds',
      { externalOrderId, externalRefundId: t.id('r'), amountCents: 3000 },
      { query: { dryRun: '1' } },
    )
    t.equal(t.expect(reply, 200).commission?.amountCents, 960, 'amountCents')
    t.equal((await t.commissionOf(externalOrderId)).commissionAmountCents, 1440, 'commissionAmountCents')
  })
  arrival(rule)
  canceledRefunds(rule)
  paid(rule)
  cancellations(rule)
})

function arrival(rule: Define): void {
  const page = ARRIVAL
  rule(
    'before-the-order',
    'A refund that arrives before its order returns 202 stored, and is applied when the order arrives',
    async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const externalOrderId = t.id('o')
      const early = await t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), amountCents: 3000 })
      t.equal(t.expect(early, 202).outcome, 'stored', 'outcome')
      const { commission } = await t.order({ externalOrderId, amountCents: 9000, couponCode: discountCode })
      t.equal(commission.amountCents, 1440, 'amountCents of the response to the order, which is the original decision')
      t.equal((await t.commissionOf(externalOrderId)).commissionAmountCents, 960, 'commissionAmountCents')
    },
    { page },
  )
  rule(
    'canceled-before-the-order',
    'A cancellation that arrives before its order returns 202 stored, and is applied',
    async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const externalOrderId = t.id('o')
      t.equal(t.expect(await t.post('/cancellations', { externalOrderId }), 202).outcome, 'stored', 'outcome')
      await t.order({ externalOrderId, amountCents: 9000, couponCode: discountCode })
      t.equal((await t.commissionOf(externalOrderId)).orderStatus, 'CANCELED', 'orderStatus')
    },
    { page },
  )
  rule(
    'order-without-commission',
    'A refund of an order without a commission is noted, and applied when the order is credited',
    async (t) => {
      const { discountCode } = await t.sharedAffiliate()
      const externalOrderId = t.id('o')
      await t.order({ externalOrderId, amountCents: 9000 })
      t.equal((await refund(t, externalOrderId, { amountCents: 3000 })).outcome, 'noted', 'outcome')
      await t.order({ externalOrderId, amountCents: 9000, couponCode: discountCode })
      t.equal((await t.commissionOf(externalOrderId)).commissionAmountCents, 960, 'commissionAmountCents')
    },
    { page },
  )
}

function canceledRefunds(rule: Define): void {
  const page = CANCELED
  const cancelRefund = (t: Context, externalOrderId: string, externalRefundId: string) =>
    t.delete(`/refunds?${new URLSearchParams({ externalOrderId, externalRefundId })}`)
  rule(
    'taken-back',
    'Canceling a refund gives an unpaid commission the amount and status it would have without it',
    async (t) => {
      const [order, id] = [await ordered(t), t.id('r')]
      await refund(t, order, { externalRefundId: id, amountCents: 9000 })
      const reply = t.expect(await cancelRefund(t, order, id), 200)
      t.equal([reply.changed, reply.commissionCents], [true, 1440], 'changed and commissionCents')
      t.fields(await t.commissionOf(order), { commissionAmountCents: 1440, orderStatus: 'APPROVED' }, 'commission')
      t.equal(t.expect(await cancelRefund(t, order, id), 200).changed, false, 'changed when repeated')
    },
    { page },
  )
  rule(
    'taken-back-early',
    'A cancellation that arrives before its refund returns 202 stored, and the refund then changes nothing',
    async (t) => {
      const [order, id] = [await ordered(t), t.id('r')]
      t.equal(t.expect(await cancelRefund(t, order, id), 202).outcome, 'stored', 'outcome')
      t.equal((await refund(t, order, { externalRefundId: id, amountCents: 3000 })).changed, false, 'changed')
      t.equal((await t.commissionOf(order)).commissionAmountCents, 1440, 'commissionAmountCents')
    },
    { page },
  )
  rule(
    'taken-back-after-payment',
    'Canceling a refund of a paid commission records a positive ADJUSTMENT; the negative one stays',
    async (t) => {
      const { id, affiliate, externalOrderId } = await t.batch(9000)
      await t.pay(id)
      const externalRefundId = t.id('r')
      await refund(t, externalOrderId, { externalRefundId, amountCents: 3000 })
      const { commission } = t.expect(await cancelRefund(t, externalOrderId, externalRefundId), 200)
      const name = `adj:${commission.id}:${externalRefundId}`
      const adjustments = (await t.rowsOf(affiliate.id)).filter((row) => row.trackingMethod === 'ADJUSTMENT')
      t.equal(
        adjustments.map((row) => `${row.orderId} ${row.commissionAmountCents}`).sort(),
        [`${name} -480`, `${name}:canceled 480`],
        'order ids and amounts of the adjustments',
      )
      const periodStart = adjustments.at(-1)?.happenedAt
      const periodEnd = new Date(Date.now() + 86_400_000).toISOString()
      const body = { periodStart, periodEnd, affiliateIds: [affiliate.id] }
      const batch = t.expect(await t.post('/payouts', body), 200).data
      t.equal([batch.totals.commissions, batch.totals.commissionCents], [2, 0], 'commissions and commissionCents')
      await t.pay(batch.id)
    },
    { page },
  )
}

function paid(rule: Define): void {
  const page = PAID
  const adjustmentsOf = async (t: Context, affiliateId: string): Promise<Json[]> =>
    (await t.rowsOf(affiliateId)).filter((row) => row.trackingMethod === 'ADJUSTMENT')
  rule(
    'paid-stays-paid',
    'A refund of a paid commission leaves it PAID, and records a negative ADJUSTMENT',
    async (t) => {
      const { id, affiliate, externalOrderId } = await t.batch(9000)
      await t.pay(id)
      const { refund: applied } = await refund(t, externalOrderId, { amountCents: 3000 })
      t.fields(
        await t.commissionOf(externalOrderId),
        { orderStatus: 'PAID', commissionAmountCents: 1440 },
        'commission',
      )
      const adjustments = await adjustmentsOf(t, affiliate.id)
      t.equal(
        adjustments.map((row) => row.commissionAmountCents),
        [-480],
        'amounts of adjustments',
      )
      t.fields(
        adjustments[0],
        { id: applied.adjustmentId, externalOrderId: null, orderStatus: 'APPROVED' },
        'adjustment',
      )
    },
    { page },
  )
  rule(
    'adjustment-is-netted',
    'The next batch whose period includes the time of the refund deducts the adjustment',
    async (t) => {
      const { id, affiliate, externalOrderId } = await t.batch(9000)
      await t.pay(id)
      await refund(t, externalOrderId, { amountCents: 3000 })
      const [{ happenedAt } = { happenedAt: '' }] = await adjustmentsOf(t, affiliate.id)
      await t.order({ amountCents: 10_000, couponCode: affiliate.discountCode, occurredAt: happenedAt })
      const batch = t.expect(
        await t.post('/payouts', {
          periodStart: happenedAt.slice(0, 10),
          periodEnd: `${happenedAt.slice(0, 10)}T23:59:59.999Z`,
          affiliateIds: [affiliate.id],
        }),
        200,
      ).data
      t.equal([batch.totals.commissions, batch.totals.commissionCents], [2, 1120], 'commissions and commissionCents')
    },
    { page },
  )
  rule(
    'open-batch-follows',
    'A refund of a commission in an open batch changes the total of the batch',
    async (t) => {
      const { id, externalOrderId } = await t.batch(9000)
      await refund(t, externalOrderId, { amountCents: 3000 })
      const { data } = t.expect(await t.get('/payouts', { id }), 200)
      t.equal(data[0]?.totals.commissionCents, 960, 'commissionCents')
    },
    { page },
  )
  rule(
    'emptied-batch',
    'A batch whose commissions are all refunded is FAILED',
    async (t) => {
      const { id, externalOrderId } = await t.batch(9000)
      await refund(t, externalOrderId, { amountCents: 9000 })
      t.equal(t.expect(await t.get('/payouts', { id }), 200).data[0]?.status, 'FAILED', 'status')
      t.expect(await t.patch(`/payouts?id=${id}&action=pay`), 409, 'payout_not_payable')
    },
    { page },
  )
}

function cancellations(rule: Define): void {
  const page = CANCEL
  rule(
    'canceled',
    'A cancellation makes an unpaid commission CANCELED',
    async (t) => {
      const order = await ordered(t)
      t.equal((await cancel(t, order)).commission.status, 'CANCELED', 'status')
      t.equal((await t.commissionOf(order)).orderStatus, 'CANCELED', 'orderStatus')
    },
    { page },
  )
  rule(
    'canceled-once',
    'A repeated cancellation changes nothing',
    async (t) => {
      const order = await ordered(t)
      await cancel(t, order)
      t.equal((await cancel(t, order)).changed, false, 'changed')
    },
    { page },
  )
  rule(
    'reversed',
    'A cancellation of a paid commission makes it REVERSED, and takes back what refunds have left',
    async (t) => {
      const { id, affiliate, externalOrderId } = await t.batch(9000)
      await t.pay(id)
      await refund(t, externalOrderId, { amountCents: 3000 })
      const { commissionCents } = await cancel(t, externalOrderId)
      t.equal(commissionCents, -960, 'commissionCents')
      const rows = await t.rowsOf(affiliate.id)
      t.equal(rows.find((row) => row.externalOrderId === externalOrderId)?.orderStatus, 'REVERSED', 'orderStatus')
      t.equal(
        rows.reduce((sum, row) => sum + row.commissionAmountCents, 0),
        0,
        'the sum of the commissions of the affiliate',
      )
    },
    { page },
  )
  rule(
    'canceled-and-refunded',
    'A canceled order is REFUNDED once everything is refunded, in either order of arrival',
    async (t) => {
      const [first, second] = [await ordered(t), await ordered(t)]
      await cancel(t, first)
      await refund(t, first, { amountCents: 9000 })
      await refund(t, second, { amountCents: 9000 })
      await cancel(t, second)
      for (const order of [first, second]) t.equal((await t.commissionOf(order)).orderStatus, 'REFUNDED', 'orderStatus')
    },
    { page },
  )
}
