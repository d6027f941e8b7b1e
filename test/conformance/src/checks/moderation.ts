import { type Define, group } from '../check.ts'
import type { Context, Json } from '../context.ts'
import { goods } from './owner.ts'

const STATUS = 'concepts/commissions.md#status'

const MOVES = 'reference/errors.md#commission_move_not_allowed'

const affiliateByHand = (t: Context): Promise<Json> =>
  t.once('by-hand', () => t.affiliateOf({ autoApproveOrder: false }))

/** A pending commission. */
async function pending(t: Context, given: Json = {}): Promise<{ id: string; externalOrderId: string }> {
  const { discountCode } = await affiliateByHand(t)
  const externalOrderId = t.id('o')
  const { commission } = await t.order({ ...goods, externalOrderId, couponCode: discountCode, ...given })
  return { id: commission.id, externalOrderId }
}

const act = (t: Context, id: string, action: string) => t.owner('POST', `/commissions/${id}/${action}`)

const moved = async (t: Context, id: string, action: string): Promise<Json> =>
  t.expect(await act(t, id, action), 200).data

export const moderation = group(
  'moderation',
  { title: 'Moderation', page: STATUS, suite: 'owner', needs: ['owner'] },
  (rule) => {
    for (const [action, status] of [
      ['approve', 'APPROVED'],
      ['reject', 'REJECTED'],
      ['cancel', 'CANCELED'],
    ] as const)
      rule(action, `${action} makes a PENDING commission ${status}`, async (t) => {
        const { id, externalOrderId } = await pending(t)
        t.equal((await moved(t, id, action)).orderStatus, status, 'orderStatus')
        t.equal((await t.commissionOf(externalOrderId)).orderStatus, status, 'orderStatus in the list')
      })
    rule('reopen', 'reopen evaluates a REJECTED commission again', async (t) => {
      const { id } = await pending(t)
      await moved(t, id, 'reject')
      t.fields(await moved(t, id, 'reopen'), { orderStatus: 'PENDING', commissionAmountCents: 1600 }, 'commission')
    })
    rule(
      'reopen-restricted',
      'reopen returns 409 commission_still_restricted until the cause is gone',
      async (t) => {
        const affiliate = await t.affiliateOf({ autoApproveOrder: false }, { status: 'PENDING' })
        const { commission } = await t.order({ ...goods, couponCode: affiliate.discountCode })
        t.expect(await act(t, commission.id, 'reopen'), 409, 'commission_still_restricted')
        t.expect(await t.patch(`/affiliates?id=${affiliate.id}`, { status: 'APPROVED' }), 200)
        t.fields(
          await moved(t, commission.id, 'reopen'),
          { orderStatus: 'PENDING', commissionAmountCents: 1600 },
          'commission',
        )
      },
      { page: 'concepts/commissions.md#restrictions' },
    )
    rule('reverse', 'reverse makes a PAID commission REVERSED, and records what it takes back', async (t) => {
      const { id, affiliate, externalOrderId } = await t.batch(9000)
      await t.pay(id)
      const row = await t.commissionOf(externalOrderId)
      t.equal((await moved(t, row.id, 'reverse')).orderStatus, 'REVERSED', 'orderStatus')
      const adjustment = (await t.rowsOf(affiliate.id)).find((row) => row.trackingMethod === 'ADJUSTMENT')
      t.fields(adjustment, { orderId: `adj:${row.id}:reversal`, commissionAmountCents: -1440 }, 'adjustment')
    })
    const NOT_ALLOWED: [string, string[], string][] = [
      ['approve-twice', ['approve'], 'approve'],
      ['reverse-pending', [], 'reverse'],
      ['reopen-approved', ['approve'], 'reopen'],
      ['approve-canceled', ['cancel'], 'approve'],
      ['approve-rejected', ['reject'], 'approve'],
      ['cancel-twice', ['cancel'], 'cancel'],
    ]
    for (const [name, before, action] of NOT_ALLOWED)
      rule(
        name,
        `${action} after ${before.join(', ') || 'nothing'} returns 409 commission_move_not_allowed`,
        async (t) => {
          const { id } = await pending(t)
          for (const row of before) await moved(t, id, row)
          t.expect(await act(t, id, action), 409, 'commission_move_not_allowed')
        },
        { page: MOVES },
      )
    rule(
      'paid-cannot-be-canceled',
      'A PAID commission cannot be canceled or rejected',
      async (t) => {
        const { id, externalOrderId } = await t.batch()
        await t.pay(id)
        const row = await t.commissionOf(externalOrderId)
        for (const action of ['cancel', 'reject', 'approve'])
          t.expect(await act(t, row.id, action), 409, 'commission_move_not_allowed')
      },
      { page: MOVES },
    )
    rule(
      'adjustment-is-fixed',
      'An adjustment cannot be changed',
      async (t) => {
        const { id, externalOrderId } = await t.batch(9000)
        await t.pay(id)
        const { refund } = t.expect(
          await t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), amountCents: 3000 }),
          200,
        )
        t.expect(await act(t, refund.adjustmentId, 'cancel'), 409, 'commission_is_adjustment')
      },
      { page: 'reference/errors.md#commission_is_adjustment' },
    )
    rule(
      'cancel-in-batch',
      'A commission that is canceled leaves its open batch',
      async (t) => {
        const [affiliate, day] = [await t.affiliate(), t.day()]
        const ids = []
        for (const _ of [1, 2])
          ids.push((await t.order({ ...goods, couponCode: affiliate.discountCode, occurredAt: day })).commission.id)
        const { id } = t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 200).data
        await moved(t, ids[0], 'cancel')
        t.equal(t.expect(await t.get('/payouts', { id }), 200).data[0].totals.commissionCents, 1600, 'commissionCents')
      },
      { page: 'concepts/payouts.md#status' },
    )
    rule(
      'unknown',
      'An unknown commission returns 404 commission_not_found',
      async (t) => {
        t.expect(await act(t, 'com_unknown', 'approve'), 404, 'commission_not_found')
      },
      { page: 'reference/errors.md#commission_not_found' },
    )
    rule(
      'refund-too-much',
      'A refund by an owner of more than is left returns 409 refund_exceeds_order',
      async (t) => {
        const { id } = await pending(t)
        t.expect(
          await t.owner('POST', `/commissions/${id}/refund`, { externalRefundId: t.id('r'), amountCents: 10_001 }),
          409,
          'refund_exceeds_order',
        )
      },
      { page: 'concepts/refunds.md#refunds' },
    )
    rule(
      'refund-all',
      'A refund without an amount refunds all that is left',
      async (t) => {
        const { id } = await pending(t)
        const { data } = t.expect(
          await t.owner('POST', `/commissions/${id}/refund`, { externalRefundId: t.id('r') }),
          200,
        )
        t.fields(data, { orderStatus: 'REFUNDED', commissionAmountCents: 0 }, 'commission')
      },
      { page: 'concepts/refunds.md#amount' },
    )
    rule('many', 'moderate changes the commissions that allow it, and lists the others', async (t) => {
      const [a, b] = [await pending(t), await pending(t)]
      await moved(t, b.id, 'cancel')
      const { data } = t.expect(
        await t.owner('POST', '/commissions/moderate', { action: 'approve', ids: [a.id, b.id] }),
        200,
      )
      t.fields(data, { changed: 1, skipped: [{ id: b.id, code: 'commission_move_not_allowed' }] }, 'data')
    })
    batches(rule)
  },
)

function batches(rule: Define): void {
  rule(
    'cancel-batch',
    'Canceling an open batch makes it FAILED, and its commissions can be paid by another one',
    async (t) => {
      const { id, affiliate, day, externalOrderId } = await t.batch()
      t.equal(t.expect(await t.owner('POST', `/payouts/${id}/cancel`), 200).data.status, 'FAILED', 'status')
      t.fields(await t.commissionOf(externalOrderId), { orderStatus: 'APPROVED', payoutBatchId: null }, 'commission')
      t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 200)
    },
    { page: 'concepts/payouts.md#status' },
  )
  rule(
    'cancel-paid-batch',
    'A PAID batch cannot be canceled: 409 payout_not_cancelable',
    async (t) => {
      const { id } = await t.batch()
      await t.pay(id)
      t.expect(await t.owner('POST', `/payouts/${id}/cancel`), 409, 'payout_not_cancelable')
    },
    { page: 'reference/errors.md#payout_not_cancelable' },
  )
}
