import { type Define, group, onPage } from '../check.ts'
import type { Context, Json } from '../context.ts'
import { canceledRefunds } from './canceled-refunds.ts'
import { cancel, ordered, refund, reportRefund } from './refund-calls.ts'

const PAGE = 'concepts/refunds.md'

const leaves = async (t: Context, externalOrderId: string, commissionAmountCents: number, orderStatus = 'APPROVED') =>
  t.fields(await t.commissionOf(externalOrderId), { commissionAmountCents, orderStatus }, 'commission')

const lines = [
  { productId: '1', variantId: '11', quantity: 2, priceCents: 3000 },
  { productId: '2', variantId: '21', quantity: 1, priceCents: 4000 },
]

export const refunds = group('refunds', { title: 'Refunds and cancellations', page: `${PAGE}#amount` }, (rule) => {
  rule('lowers-the-commission', 'A refund of 30.00 of 90.00 at 16% leaves 9.60', async (t) => {
    const order = await ordered(t)
    const { refund: applied, commission, ...body } = await refund(t, order, { amountCents: 3000, reason: 'Damaged' })
    t.fields(
      body,
      { dryRun: false, outcome: 'applied', changed: true, externalOrderId: order, orderId: `api:${order}` },
      'body',
    )
    t.fields(body, { refundedCents: 3000, warning: null }, 'body')
    t.fields(
      applied,
      { amountCents: 3000, lineItems: [], reason: 'Damaged', goodsCents: 3000, commissionCents: -480, taxCents: 0 },
      'refund',
    )
    t.fields(commission, { status: 'APPROVED', amountCents: 960, taxWithheldCents: 0, currency: 'USD' }, 'commission')
    await leaves(t, order, 960)
    t.equal((await t.commissionOf(order)).remainingBaseCents, 6000, 'remainingBaseCents')
  })
  rule('refunded', 'When nothing is left, the commission is REFUNDED with amount 0', async (t) => {
    const order = await ordered(t)
    for (const _ of [1, 2, 3]) await refund(t, order, { amountCents: 3000 })
    await leaves(t, order, 0, 'REFUNDED')
  })
  rule('sum-decides', 'Two refunds have the result of one refund of their sum', async (t) => {
    const [parts, whole] = [await ordered(t, { amountCents: 9999 }), await ordered(t, { amountCents: 9999 })]
    for (const amountCents of [33, 34, 1717]) await refund(t, parts, { amountCents })
    await refund(t, whole, { amountCents: 33 + 34 + 1717 })
    await leaves(t, parts, (await t.commissionOf(whole)).commissionAmountCents)
  })
  rule('recorded-rate', 'A refund uses the recorded rate, not the rate of the program now', async (t) => {
    const program = await t.program()
    const { discountCode } = await t.affiliate({ campaignId: program.id })
    const order = await ordered(t, { couponCode: discountCode })
    t.expect(await t.patch(`/programs?id=${program.id}`, { commissionPercent: 50 }), 200)
    await refund(t, order, { amountCents: 3000 })
    await leaves(t, order, 960)
  })
  rule('flat-per-order', 'FLAT_PER_ORDER is unchanged until everything is refunded', async (t) => {
    const order = await ordered(t, { currency: 'JPY' }, { commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 })
    await refund(t, order, { amountCents: 8999, currency: 'JPY' })
    await leaves(t, order, 500)
    const { refund: last } = await refund(t, order, { amountCents: 1 })
    t.fields(last, { goodsCents: 1, commissionCents: -500 }, 'refund')
    await leaves(t, order, 0, 'REFUNDED')
  })
  rule('flat-per-item', 'FLAT_PER_ITEM pays the remaining items', async (t) => {
    const lineItems = [{ ...lines[0], quantity: 3 }]
    const program = { commissionType: 'FLAT_PER_ITEM', commissionPercent: 2.5 }
    const order = await ordered(t, { amountCents: undefined, lineItems }, program)
    await refund(t, order, { lineItems: [{ variantId: '11', quantity: 1 }] })
    await leaves(t, order, 500)
  })
  rule('once', 'A refund id that was reported before changes nothing, and warns of another amount', async (t) => {
    const [order, externalRefundId] = [await ordered(t), t.id('r')]
    await refund(t, order, { externalRefundId, amountCents: 3000 })
    for (const [change, warning] of [
      [{ amountCents: 6000 }, 'refund_differs'],
      [{ lineItems: [{ productId: '1', quantity: 1 }] }, 'refund_differs'],
      [{ externalRefundId: ` ${externalRefundId}\u200b`, amountCents: 3000, reason: 'Damaged' }, null],
    ] as const) {
      const again = await refund(t, ` ${order}`, { externalRefundId, ...change })
      t.fields(again, { changed: false, refundedCents: 3000, warning }, 'body')
      t.fields(again.refund, { amountCents: 3000, commissionCents: -480 }, 'refund')
    }
    await leaves(t, order, 960)
  })
  rule(
    'more-than-left',
    'A refund of more than is left takes what is left, with the warning refund_exceeds_order',
    async (t) => {
      const order = await ordered(t)
      const { refund: applied, warning } = await refund(t, order, { amountCents: 10_000 })
      t.fields(applied, { amountCents: 10_000, goodsCents: 9000, commissionCents: -1440 }, 'refund')
      t.equal(warning, 'refund_exceeds_order', 'warning')
      await leaves(t, order, 0, 'REFUNDED')
      const again = await refund(t, order, { amountCents: 1 })
      t.fields(again, { changed: true, warning: 'refund_exceeds_order' }, 'body')
    },
    { page: `${PAGE}#refunds` },
  )
  rule(
    'required',
    'A refund requires the order, the refund id, and either an amount or line items',
    async (t) => {
      const [externalOrderId, externalRefundId, amountCents] = [t.id('o'), t.id('r'), 100]
      for (const body of [
        { externalRefundId, amountCents },
        { externalOrderId, amountCents },
        { externalOrderId, externalRefundId },
        { externalOrderId, externalRefundId, amountCents, lineItems: [{ variantId: '1', quantity: 1 }] },
        ...['reversal', 'carry\u200b', '\u200b', 're-1:canceled'].map((id) => ({
          externalOrderId,
          externalRefundId: id,
          amountCents,
        })),
      ])
        t.expect(await t.post('/refunds', body), 400, 'invalid_body')
      const lineItems = [{ variantId: '1', quantity: 1, amount_cents: 1 }]
      t.expect(await t.post('/refunds', { externalOrderId, externalRefundId, lineItems }), 400, 'unknown_property')
    },
    { page: 'reference/errors.md#invalid_body' },
  )
  rule(
    'other-currency',
    'A refund in another currency returns 409 refund_currency_mismatch, also in a dry run',
    async (t) => {
      const order = await ordered(t)
      for (const query of [undefined, { dryRun: '1' }])
        t.expect(
          await reportRefund(t, order, { amountCents: 100, currency: 'EUR' }, query),
          409,
          'refund_currency_mismatch',
        )
      await leaves(t, order, 1440)
    },
    { page: 'reference/errors.md#refund_currency_mismatch' },
  )
  rule(
    'dry-run',
    '`?dryRun=1` of a refund or cancellation returns what it would do, and records nothing',
    async (t) => {
      const batch = await t.batch(9000)
      await t.pay(batch.id)
      const uncredited = await ordered(t, { couponCode: t.code() })
      for (const path of ['/refunds', '/cancellations'])
        for (const externalOrderId of [t.id('unknown'), uncredited, await ordered(t), batch.externalOrderId]) {
          const body = {
            externalOrderId,
            ...(path === '/refunds' && { externalRefundId: t.id('r'), amountCents: 3000 }),
          }
          const dry = () => t.post(path, body, { query: { dryRun: '1' } })
          const preview = [t.expect(await dry(), 200), t.expect(await dry(), 200)]
          const { body: done } = await t.post(path, body)
          for (const one of [...preview, done]) {
            for (const name of ['dryRun', 'message', 'adjustmentId']) delete one[name]
            if (one.refund) Object.assign(one.refund, { adjustmentId: null, occurredAt: null })
          }
          t.equal(preview, [done, done], `the dry runs of ${path}`)
          t.equal(t.expect(await dry(), 200).changed, false, 'changed of a dry run afterwards')
        }
    },
  )
  byLine(onPage(rule, `${PAGE}#refunds-by-line-item`))
  arrival(onPage(rule, `${PAGE}#order-of-arrival`))
  canceledRefunds(onPage(rule, `${PAGE}#canceled-refunds`))
  paid(onPage(rule, `${PAGE}#before-and-after-payment`))
  cancellations(onPage(rule, `${PAGE}#cancellations`))
})

function byLine(rule: Define): void {
  const of = (t: Context, more: Json = {}) => ordered(t, { amountCents: undefined, lineItems: lines, ...more })

  rule(
    'by-line-items',
    'Returned line items count at their sale price, less their share of the discount',
    async (t) => {
      const order = await of(t, { discountCents: 1000 })
      const { refund: applied } = await refund(t, order, { lineItems: [{ variantId: '11', quantity: 1 }] })
      t.fields(applied, { amountCents: null, goodsCents: 2700 }, 'refund')
      t.equal(applied.lineItems, [{ variantId: '11', productId: null, quantity: 1 }], 'lineItems')
      await leaves(t, order, 1008)
    },
  )
  rule(
    'unknown-line-item',
    'A line item that the order does not have reduces nothing: refund_item_unknown',
    async (t) => {
      const [order, early] = [await of(t), t.id('o')]
      const unknown = { lineItems: [{ variantId: 'gid://x/1', quantity: 1 }] }
      const { refund: applied, warning } = await refund(t, order, unknown)
      t.equal([applied.goodsCents, warning], [0, 'refund_item_unknown'], 'goodsCents and warning')
      t.expect(await reportRefund(t, early, unknown), 202)
      await of(t, { externalOrderId: early })
      for (const id of [order, early]) await leaves(t, id, 1600)
    },
  )
  for (const [name, back, cents] of [
    ['paid-line', { id: 'a', quantity: 1 }, 0],
    ['free-line', { id: 'b', quantity: 2 }, 1600],
    ['part-of-a-line', { id: 'a', quantity: 1, amountCents: 2500 }, 1200],
    ['amount-of-a-free-line', { id: 'b', quantity: 1, amountCents: 2500 }, 1600],
  ] as const)
    rule(
      name,
      `With one line of 100.00 free, a refund of the ${name.replaceAll('-', ' ')} leaves ${cents / 100}`,
      async (t) => {
        const lineItems = [
          { id: 'a', variantId: '13', quantity: 1, priceCents: 10_000 },
          { id: 'b', variantId: '13', quantity: 2, priceCents: 5000, discountCents: 10_000 },
        ]
        const order = await of(t, { discountCents: 10_000, lineItems })
        await leaves(t, order, 1600)
        const { refund: applied } = await refund(t, order, { lineItems: [back] })
        t.fields(applied.lineItems[0], back, 'lineItems[0]')
        await leaves(t, order, cents, cents ? 'APPROVED' : 'REFUNDED')
      },
    )
}

function arrival(rule: Define): void {
  rule(
    'before-the-order',
    'A refund before its order returns 202 stored, and is applied when the order arrives',
    async (t) => {
      const [externalOrderId, externalRefundId] = [t.id('o'), t.id('r')]
      for (const changed of [true, false]) {
        const reply = await reportRefund(t, externalOrderId, { externalRefundId, amountCents: 3000 })
        const stored = { outcome: 'stored', changed, refund: null, refundedCents: 3000, commission: null }
        t.fields(t.expect(reply, 202), stored, 'body')
      }
      const { discountCode: couponCode } = await t.sharedAffiliate()
      const { commission } = await t.order({ externalOrderId, amountCents: 9000, couponCode })
      t.equal(commission.amountCents, 1440, 'amountCents of the response to the order, which is the original decision')
      await leaves(t, externalOrderId, 960)
      const again = await refund(t, externalOrderId, { externalRefundId, amountCents: 3000 })
      t.fields(again, { outcome: 'applied', changed: false }, 'body')
      const { data } = t.expect(await t.get('/orders/explanation', { externalOrderId }), 200)
      t.equal(data.notices.length, 1, 'the number of notices')
      t.fields(data.notices[0], { type: 'refund', externalRefundId, applied: true }, 'notice')
    },
  )
  rule('early-currency', 'A refund in another currency that arrives before its order is not applied', async (t) => {
    const externalOrderId = t.id('o')
    t.expect(await reportRefund(t, externalOrderId, { amountCents: 3000, currency: 'EUR' }), 202)
    await ordered(t, { externalOrderId })
    await leaves(t, externalOrderId, 1440)
  })
  rule('canceled-before-the-order', 'A cancellation before its order returns 202 stored, and is applied', async (t) => {
    const externalOrderId = t.id('o')
    for (const changed of [true, false]) {
      const reply = await t.post('/cancellations', { externalOrderId })
      t.fields(t.expect(reply, 202), { outcome: 'stored', changed, commission: null }, 'body')
    }
    await ordered(t, { externalOrderId })
    await leaves(t, externalOrderId, 1440, 'CANCELED')
  })
  rule(
    'order-without-commission',
    'A refund of an order without a commission is noted until it is credited',
    async (t) => {
      const order = await ordered(t, { couponCode: t.code(), amountCents: 5000 })
      const noted = await refund(t, order, { amountCents: 3000 })
      t.fields(noted, { outcome: 'noted', changed: true, commission: null }, 'body')
      for (const amountCents of [9000, 20_000]) {
        await ordered(t, { externalOrderId: order, amountCents })
        await leaves(t, order, 960)
      }
    },
  )
  rule('other-source', 'A refund reaches no order by its stored id', async (t) => {
    const order = await ordered(t)
    for (const source of ['api', 'shopify'])
      t.expect(await reportRefund(t, `${source}:${order}`, { amountCents: 9000 }), 202)
    await leaves(t, order, 1440)
  })
  rule(
    'of-a-rejected-commission',
    'Refunds of a rejected commission count when it is reopened',
    async (t) => {
      const { id, discountCode: couponCode } = await t.affiliate({ status: 'PENDING' })
      const externalOrderId = t.id('o')
      t.expect(await reportRefund(t, externalOrderId, { amountCents: 3000 }), 202)
      await ordered(t, { externalOrderId, couponCode })
      const { refund: applied, commission } = await refund(t, externalOrderId, { amountCents: 3000 })
      t.fields(applied, { goodsCents: 3000, commissionCents: 0 }, 'refund')
      t.expect(await t.patch(`/affiliates?id=${id}`, { status: 'APPROVED' }), 200)
      t.expect(await t.owner('POST', `/commissions/${commission.id}/reopen`), 200)
      await leaves(t, externalOrderId, 480, 'PENDING')
    },
    { needs: ['owner'] },
  )
}

function paid(rule: Define): void {
  const adjustmentsOf = async (t: Context, affiliateId: string): Promise<Json[]> =>
    (await t.rowsOf(affiliateId)).filter((row) => row.trackingMethod === 'ADJUSTMENT')
  rule(
    'paid-stays-paid',
    'A refund of a paid commission leaves it PAID, and records a negative ADJUSTMENT',
    async (t) => {
      const { id, affiliate, externalOrderId } = await t.batch(9000)
      await t.pay(id)
      const externalRefundId = t.id('r')
      const { refund: applied, commission } = await refund(t, externalOrderId, { externalRefundId, amountCents: 3000 })
      await leaves(t, externalOrderId, 1440, 'PAID')
      const adjustments = await adjustmentsOf(t, affiliate.id)
      t.equal(adjustments.length, 1, 'the number of adjustments')
      t.fields(
        adjustments[0],
        {
          id: applied.adjustmentId,
          orderId: `adj:${commission.id}:${externalRefundId}`,
          externalOrderId: null,
          orderStatus: 'APPROVED',
          commissionAmountCents: -480,
        },
        'adjustment',
      )
    },
  )
  rule('no-adjustment', 'A refund that changes no paid commission records no adjustment', async (t) => {
    const { id, affiliate, externalOrderId } = await t.batch(9000, {
      commissionType: 'FLAT_PER_ORDER',
      commissionPercent: 5,
    })
    await t.pay(id)
    const { refund: part } = await refund(t, externalOrderId, { amountCents: 3000 })
    t.fields(part, { commissionCents: 0, adjustmentId: null }, 'refund')
    t.equal(await adjustmentsOf(t, affiliate.id), [], 'adjustments')
    t.equal((await refund(t, externalOrderId, { amountCents: 6000 })).refund.commissionCents, -500, 'commissionCents')
  })
  rule('adjustment-is-netted', 'The next batch with the time of the refund deducts the adjustment', async (t) => {
    const { id, affiliate, externalOrderId } = await t.batch(9000)
    await t.pay(id)
    await refund(t, externalOrderId, { amountCents: 3000 })
    const [{ happenedAt } = { happenedAt: '' }] = await adjustmentsOf(t, affiliate.id)
    await t.order({ amountCents: 10_000, couponCode: affiliate.discountCode, occurredAt: happenedAt })
    const day = happenedAt.slice(0, 10)
    const period = { periodStart: day, periodEnd: `${day}T23:59:59.999Z`, affiliateIds: [affiliate.id] }
    const { totals } = t.expect(await t.post('/payouts', period), 200).data
    t.equal([totals.commissions, totals.commissionCents], [2, 1120], 'commissions and commissionCents')
  })
  rule('open-batch-follows', 'A refund of a commission in an open batch changes the total of the batch', async (t) => {
    const { id, externalOrderId } = await t.batch(9000)
    await refund(t, externalOrderId, { amountCents: 3000 })
    const { data } = t.expect(await t.get('/payouts', { id }), 200)
    t.equal(data[0]?.totals.commissionCents, 960, 'commissionCents')
  })
  rule('emptied-batch', 'A batch whose commissions are all refunded is FAILED', async (t) => {
    const { id, externalOrderId } = await t.batch(9000)
    await refund(t, externalOrderId, { amountCents: 9000 })
    t.equal(t.expect(await t.get('/payouts', { id }), 200).data[0]?.status, 'FAILED', 'status')
    t.equal((await t.commissionOf(externalOrderId)).payoutBatchId, null, 'payoutBatchId')
    t.expect(await t.patch(`/payouts?id=${id}&action=pay`), 409, 'payout_not_payable')
  })
}

function cancellations(rule: Define): void {
  rule('canceled', 'A cancellation makes an unpaid commission CANCELED, once', async (t) => {
    const order = await ordered(t)
    const { commission, ...body } = await cancel(t, order)
    t.fields(body, { outcome: 'applied', changed: true, commissionCents: -1440, adjustmentId: null }, 'body')
    t.fields(commission, { status: 'CANCELED', amountCents: 1440 }, 'commission')
    t.equal((await t.commissionOf(order)).orderStatus, 'CANCELED', 'orderStatus')
    t.fields(await cancel(t, order), { changed: false, commissionCents: 0 }, 'the second response')
  })
  rule(
    'reversed',
    'A cancellation of a paid commission is REVERSED, and takes back what refunds have left',
    async (t) => {
      const { id, affiliate, externalOrderId } = await t.batch(9000)
      await t.pay(id)
      await refund(t, externalOrderId, { amountCents: 3000 })
      const { commissionCents, commission, adjustmentId } = await cancel(t, externalOrderId)
      t.equal(commissionCents, -960, 'commissionCents')
      t.fields(commission, { status: 'REVERSED', amountCents: 1440 }, 'commission')
      t.equal((await refund(t, externalOrderId, { amountCents: 3000 })).refund.commissionCents, 0, 'of a later refund')
      t.fields(await cancel(t, externalOrderId), { changed: false, commissionCents: 0 }, 'the second response')
      const rows = await t.rowsOf(affiliate.id)
      t.fields(
        rows.find((row) => row.id === adjustmentId),
        { orderId: `adj:${commission.id}:reversal`, commissionAmountCents: -960 },
        'adjustment',
      )
      const sum = rows.reduce((total, row) => total + row.commissionAmountCents, 0)
      t.equal(sum, 0, 'the sum of the commissions of the affiliate')
    },
  )
  rule(
    'canceled-and-refunded',
    'A canceled order is REFUNDED once everything is, in either order of arrival',
    async (t) => {
      const [first, second] = [await ordered(t), await ordered(t)]
      await cancel(t, first)
      await refund(t, first, { amountCents: 9000 })
      await refund(t, second, { amountCents: 9000 })
      await cancel(t, second)
      for (const order of [first, second]) t.equal((await t.commissionOf(order)).orderStatus, 'REFUNDED', 'orderStatus')
    },
  )
}
