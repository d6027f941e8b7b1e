import type { Define } from '../check.ts'
import type { Context, Json } from '../context.ts'
import { cancel, ordered, refund } from './refund-calls.ts'

const cancelRefund = (t: Context, externalOrderId: string, externalRefundId: string) =>
  t.delete(`/refunds?${new URLSearchParams({ externalOrderId, externalRefundId })}`)

/** An order whose refund was canceled. `between` changes something before. */
async function restored(t: Context, given: Json = {}, between?: (order: string) => Promise<unknown>): Promise<Json> {
  const [order, externalRefundId] = [await ordered(t, given), t.id('r')]
  await refund(t, order, { externalRefundId, amountCents: 9000 })
  await between?.(order)
  t.expect(await cancelRefund(t, order, externalRefundId), 200)
  return t.commissionOf(order)
}

export function canceledRefunds(rule: Define): void {
  rule('taken-back', 'Canceling a refund gives an unpaid commission what it would have without it', async (t) => {
    const [order, id] = [await ordered(t), t.id('r')]
    await refund(t, order, { externalRefundId: id, amountCents: 9000 })
    await refund(t, order, { amountCents: 3000 })
    const { commission, ...body } = t.expect(await cancelRefund(t, ` ${order}`, `${id}\u200b`), 200)
    t.fields(body, { outcome: 'applied', changed: true, refundedCents: 3000, commissionCents: 960 }, 'body')
    t.fields(body, { externalOrderId: order, externalRefundId: id, adjustmentId: null }, 'body')
    t.fields(commission, { status: 'APPROVED', amountCents: 960 }, 'commission')
    t.fields(await t.commissionOf(order), { commissionAmountCents: 960, orderStatus: 'APPROVED' }, 'commission')
    t.equal(t.expect(await cancelRefund(t, order, id), 200).changed, false, 'changed when repeated')
    const late = await refund(t, order, { externalRefundId: id, amountCents: 1000 })
    t.fields(late, { changed: false, refundedCents: 3000 }, 'a report of the canceled refund')
    const { data } = t.expect(await t.get('/orders/explanation', { externalOrderId: order }), 200)
    const entry = { externalRefundId: `${id}:canceled`, goodsCents: -6000, commissionCents: 960 }
    t.fields(data.refunds.at(-1), entry, 'the last refund of the explanation')
  })
  rule(
    'taken-back-early',
    'A cancellation that arrives before its refund makes the refund change nothing',
    async (t) => {
      const [known, unknown, id] = [await ordered(t), t.id('o'), t.id('r')]
      for (const order of [known, unknown])
        for (const changed of [true, false]) {
          const reply = await cancelRefund(t, order, id)
          t.fields(t.expect(reply, 202), { outcome: 'stored', changed, commissionCents: 0 }, 'body')
        }
      const given = { externalRefundId: id, amountCents: 3000 }
      t.equal((await refund(t, known, given)).changed, false, 'changed')
      const early = await t.post('/refunds', { externalOrderId: unknown, ...given })
      t.equal(t.expect(early, 202).refundedCents, 0, 'refundedCents')
      await ordered(t, { externalOrderId: unknown })
      for (const order of [known, unknown])
        t.equal((await t.commissionOf(order)).commissionAmountCents, 1440, 'commissionAmountCents')
      await refund(t, known, { amountCents: 3000 })
      t.equal((await t.commissionOf(known)).commissionAmountCents, 960, 'commissionAmountCents after another refund')
    },
  )
  rule('taken-back-noted', 'A refund that is noted can be canceled before the order is credited', async (t) => {
    const [order, id] = [await ordered(t, { couponCode: t.code() }), t.id('r')]
    await refund(t, order, { externalRefundId: id, amountCents: 3000 })
    const noted = t.expect(await cancelRefund(t, order, id), 200)
    t.fields(noted, { outcome: 'noted', changed: true, refundedCents: 0 }, 'body')
    await ordered(t, { externalOrderId: order })
    t.equal((await t.commissionOf(order)).commissionAmountCents, 1440, 'commissionAmountCents')
  })
  rule('taken-back-status', 'A REFUNDED commission returns to its earlier status', async (t) => {
    const { discountCode: couponCode } = await t.affiliateOf({ autoApproveOrder: false })
    const rows = [
      await restored(t),
      await restored(t, { couponCode }),
      await restored(t, {}, (order) => cancel(t, order)),
    ]
    const found = rows.map((row) => `${row.orderStatus} ${row.commissionAmountCents}`)
    t.equal(found, ['APPROVED 1440', 'PENDING 1440', 'CANCELED 1440'], 'statuses and amounts')
  })
  rule(
    'taken-back-in-batch',
    'The total of an open batch follows, and a commission that left stays outside',
    async (t) => {
      const { id: batchId, affiliate, externalOrderId } = await t.batch(9000)
      const commissionCents = async () =>
        t.expect(await t.get('/payouts', { id: batchId }), 200).data[0].totals.commissionCents
      const [part, whole] = [t.id('r'), t.id('r')]
      await refund(t, externalOrderId, { externalRefundId: part, amountCents: 3000 })
      t.expect(await cancelRefund(t, externalOrderId, part), 200)
      t.equal(await commissionCents(), 1440, 'commissionCents')
      await refund(t, externalOrderId, { externalRefundId: whole, amountCents: 9000 })
      t.expect(await cancelRefund(t, externalOrderId, whole), 200)
      t.equal(await commissionCents(), 0, 'commissionCents without the commission')
      const [row] = await t.rowsOf(affiliate.id)
      t.fields(row, { orderStatus: 'APPROVED', payoutBatchId: null, commissionAmountCents: 1440 }, 'commission')
    },
  )
  rule(
    'taken-back-of-owner',
    'A refund by an owner can be canceled, too',
    async (t) => {
      const [order, externalRefundId] = [await ordered(t), t.id('r')]
      const { id } = await t.commissionOf(order)
      t.expect(await t.owner('POST', `/commissions/${id}/refund`, { externalRefundId, amountCents: 3000 }), 200)
      const { commission } = t.expect(await cancelRefund(t, order, externalRefundId), 200)
      t.equal(commission.amountCents, 1440, 'amountCents')
    },
    { needs: ['owner'] },
  )
  rule(
    'taken-back-after-payment',
    'Of a paid commission it records a positive ADJUSTMENT; the other stays',
    async (t) => {
      const { id, affiliate, externalOrderId } = await t.batch(9000)
      await t.pay(id)
      const externalRefundId = t.id('r')
      await refund(t, externalOrderId, { externalRefundId, amountCents: 3000 })
      const { commission, ...body } = t.expect(await cancelRefund(t, externalOrderId, externalRefundId), 200)
      t.fields(commission, { status: 'PAID', amountCents: 1440 }, 'commission')
      t.fields(body, { outcome: 'applied', commissionCents: 480 }, 'body')
      const again = t.expect(await cancelRefund(t, externalOrderId, externalRefundId), 200)
      t.fields(again, { changed: false, adjustmentId: body.adjustmentId }, 'the second response')
      const name = `adj:${commission.id}:${externalRefundId}`
      const adjustments = (await t.rowsOf(affiliate.id)).filter((row) => row.trackingMethod === 'ADJUSTMENT')
      t.equal(
        adjustments.map((row) => `${row.orderId} ${row.commissionAmountCents}`).sort(),
        [`${name} -480`, `${name}:canceled 480`],
        'order ids and amounts of the adjustments',
      )
      const periodStart = adjustments.at(-1)?.happenedAt
      const periodEnd = new Date(Date.now() + 86_400_000).toISOString()
      const period = { periodStart, periodEnd, affiliateIds: [affiliate.id] }
      const batch = t.expect(await t.post('/payouts', period), 200).data
      t.equal([batch.totals.commissions, batch.totals.commissionCents], [2, 0], 'commissions and commissionCents')
      await t.pay(batch.id)
    },
  )
  rule('taken-back-paid-less', 'A commission that was paid less because of the refund is paid the rest', async (t) => {
    const { id, externalOrderId } = await t.batch(9000)
    const externalRefundId = t.id('r')
    await refund(t, externalOrderId, { externalRefundId, amountCents: 3000 })
    await t.pay(id)
    const { commission, ...body } = t.expect(await cancelRefund(t, externalOrderId, externalRefundId), 200)
    t.fields(commission, { status: 'PAID', amountCents: 960 }, 'commission')
    t.ok(body.commissionCents === 480 && body.adjustmentId, JSON.stringify(body))
  })
  rule('taken-back-invalid', 'A cancellation of a reserved refund id returns 400', async (t) => {
    for (const id of ['reversal', 're-1:canceled', '\u200b'])
      t.expect(await cancelRefund(t, t.id('o'), id), 400, 'invalid_parameter')
  })
}
