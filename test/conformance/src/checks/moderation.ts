import { type Define, group, onPage } from '../check.ts'
import { after, type Context, type Json } from '../context.ts'
import { goods } from './owner.ts'

const STATUS = 'concepts/commissions.md#status'

const affiliateByHand = (t: Context): Promise<Json> =>
  t.once('by-hand', () => t.affiliateOf({ autoApproveOrder: false }))

/** A pending commission. */
async function pending(t: Context, given: Json = {}): Promise<{ id: string; externalOrderId: string }> {
  const { discountCode } = await affiliateByHand(t)
  const externalOrderId = t.id('o')
  const { commission } = await t.order({ ...goods, externalOrderId, couponCode: discountCode, ...given })
  return { id: commission.id, externalOrderId }
}

const act = (t: Context, id: string, action: string) =>
  t.owner('POST', `/commissions/${id}/${action}`, action === 'refund' ? { externalRefundId: t.id('r') } : undefined)

const moved = async (t: Context, id: string, action: string): Promise<Json> =>
  t.expect(await act(t, id, action), 200).data

const moderate = async (t: Context, body: Json): Promise<Json> =>
  t.expect(await t.owner('POST', '/commissions/moderate', body), 200).data

/** The actions that a status allows, and the status afterwards. */
const MOVES: Record<string, Record<string, string>> = {
  PENDING: { approve: 'APPROVED', reject: 'REJECTED', cancel: 'CANCELED', refund: 'REFUNDED' },
  APPROVED: { reject: 'REJECTED', cancel: 'CANCELED', refund: 'REFUNDED' },
  PAYABLE: { cancel: 'CANCELED', refund: 'REFUNDED' },
  PAID: { reverse: 'REVERSED', refund: 'PAID' },
  REJECTED: { reopen: 'PENDING' },
  CANCELED: {},
  REVERSED: {},
  REFUNDED: {},
}
const ACTIONS = ['approve', 'reject', 'cancel', 'reverse', 'reopen', 'refund']
/** The action that leads to a status from the one before it. */
const CAUSES: Record<string, [from: string, action: string]> = {
  APPROVED: ['PENDING', 'approve'],
  REJECTED: ['PENDING', 'reject'],
  CANCELED: ['APPROVED', 'cancel'],
  REVERSED: ['PAID', 'reverse'],
  REFUNDED: ['APPROVED', 'refund'],
}

/** The id of a new commission in a status. */
async function commissionIn(t: Context, status: string): Promise<string> {
  const cause = CAUSES[status]
  if (cause) return (await moved(t, await commissionIn(t, cause[0]), cause[1])).id
  if (status === 'PENDING') return (await pending(t)).id
  const { id, externalOrderId } = await t.batch()
  if (status === 'PAID') await t.pay(id)
  return (await t.commissionOf(externalOrderId)).id
}

function moves(rule: Define): void {
  const rowOf = async (t: Context, id: string) => t.expect(await t.get('/commissions', { id }), 200).data[0]
  for (const [status, allowed] of Object.entries(MOVES))
    rule(`from-${status.toLowerCase()}`, `A ${status} commission allows ${movesOf(allowed)}`, async (t) => {
      const id = await commissionIn(t, status)
      for (const action of ACTIONS.filter((one) => !(one in allowed))) {
        const code =
          action === 'refund' && status === 'REFUNDED' ? 'refund_exceeds_order' : 'commission_move_not_allowed'
        t.expect(await act(t, id, action), 409, code)
      }
      t.equal((await rowOf(t, id)).orderStatus, status, 'orderStatus')
      for (const [action, to] of Object.entries(allowed)) {
        const own = await commissionIn(t, status)
        t.equal((await moved(t, own, action)).orderStatus, to, `orderStatus after ${action}`)
        const { orderStatus, payoutBatchId } = await rowOf(t, own)
        const isInBatch = status === 'PAID'
        t.equal([orderStatus, payoutBatchId !== null], [to, isInBatch], `orderStatus and whether it is in a batch`)
      }
    })
}

const movesOf = (allowed: Record<string, string>) =>
  Object.entries(allowed)
    .map(([action, to]) => `${action} (${to})`)
    .join(', ') || 'nothing'

export const moderation = group(
  'moderation',
  { title: 'Moderation', page: STATUS, suite: 'owner', needs: ['owner'] },
  (rule) => {
    moves(onPage(rule, 'reference/errors.md#commission_move_not_allowed'))
    rule('reopen', 'reopen evaluates a REJECTED commission again, and keeps its refunds', async (t) => {
      const { id, externalOrderId } = await pending(t)
      t.expect(await t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), amountCents: 2500 }), 200)
      await moved(t, id, 'reject')
      t.fields(await moved(t, id, 'reopen'), { orderStatus: 'PENDING', commissionAmountCents: 1200 }, 'commission')
    })
    rule(
      'reopen-restricted',
      'reopen returns 409 commission_still_restricted until the cause is gone, and uses the recorded rate',
      async (t) => {
        const affiliate = await t.affiliateOf({ autoApproveOrder: false }, { status: 'PENDING' })
        const externalOrderId = t.id('o')
        const { commission } = await t.order({ ...goods, externalOrderId, couponCode: affiliate.discountCode })
        t.expect(await act(t, commission.id, 'reopen'), 409, 'commission_still_restricted')
        t.expect(await t.patch(`/affiliates?id=${affiliate.id}`, { status: 'APPROVED' }), 200)
        t.expect(await t.patch(`/programs?id=${affiliate.campaignId}`, { commissionPercent: 50 }), 200)
        t.fields(
          await moved(t, commission.id, 'reopen'),
          { orderStatus: 'PENDING', commissionAmountCents: 1600, restrictionReasonCode: null },
          'commission',
        )
        const { data } = t.expect(await t.owner('GET', `/orders/${externalOrderId}/explanation`), 200)
        t.equal([data.outcome, data.replay.identical], ['CREDITED', true], 'outcome and replay.identical')
      },
      { page: 'concepts/commissions.md#restrictions' },
    )
    rule('reverse', 'reverse makes a PAID commission REVERSED, and takes back what refunds have left', async (t) => {
      const { id, affiliate, externalOrderId } = await t.batch(9000)
      await t.pay(id)
      t.expect(await t.post('/refunds', { externalOrderId, externalRefundId: t.id('r'), amountCents: 3000 }), 200)
      const row = await t.commissionOf(externalOrderId)
      t.equal((await moved(t, row.id, 'reverse')).orderStatus, 'REVERSED', 'orderStatus')
      const adjustment = (await t.rowsOf(affiliate.id)).find(({ orderId }) => orderId === `adj:${row.id}:reversal`)
      t.equal(adjustment?.commissionAmountCents, -960, 'commissionAmountCents of the adjustment')
    })
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
        for (const action of ACTIONS)
          t.expect(await act(t, refund.adjustmentId, action), 409, 'commission_is_adjustment')
      },
      { page: 'reference/errors.md#commission_is_adjustment' },
    )
    rule(
      'unknown',
      'An unknown commission returns 404 commission_not_found',
      async (t) => {
        t.expect(await act(t, 'com_unknown', 'approve'), 404, 'commission_not_found')
      },
      { page: 'reference/errors.md#commission_not_found' },
    )
    ownerRefunds(onPage(rule, 'concepts/refunds.md#refunds'))
    bulk(rule)
    batches(rule)
  },
)

function ownerRefunds(rule: Define): void {
  const refund = (t: Context, id: string, body: Json = {}) =>
    t.owner('POST', `/commissions/${id}/refund`, { externalRefundId: t.id('r'), ...body })

  rule('refund-too-much', 'A refund by an owner of more than is left returns 409 refund_exceeds_order', async (t) => {
    const { id, externalOrderId } = await pending(t)
    t.expect(await refund(t, id, { amountCents: 9000 }), 200)
    t.expect(await refund(t, id, { amountCents: 1001 }), 409, 'refund_exceeds_order')
    t.equal((await t.commissionOf(externalOrderId)).commissionAmountCents, 160, 'commissionAmountCents')
  })
  rule('refund-all', 'A refund without an amount refunds all that is left', async (t) => {
    const { id } = await pending(t)
    const { data } = t.expect(await refund(t, id), 200)
    t.fields(data, { orderStatus: 'REFUNDED', commissionAmountCents: 0 }, 'commission')
  })
  rule('refund-once', 'A repeated refund id, in any spelling, returns the first response', async (t) => {
    const [{ id }, externalRefundId] = [await pending(t), t.id('r')]
    const first = t.expect(await refund(t, id, { externalRefundId, amountCents: 3000 }), 200)
    t.fields(first.data, { remainingBaseCents: 7000, commissionAmountCents: 1120 }, 'commission')
    for (const spelling of [externalRefundId, ` ${externalRefundId} `, `${externalRefundId}\u200b\u0085`])
      t.equal(
        t.expect(await refund(t, id, { externalRefundId: spelling, amountCents: 9000 }), 200),
        first,
        'the response',
      )
    t.expect(await refund(t, id, { externalRefundId: 'reversal\u200b', amountCents: 1 }), 400, 'invalid_body')
  })
  rule('refund-lines', 'An owner refunds line items at the price they were sold for', async (t) => {
    const lineItems = [
      { variantId: '1', quantity: 2, priceCents: 2500 },
      { productId: '7', quantity: 1, priceCents: 5000 },
    ]
    const { id } = await pending(t, { amountCents: undefined, discountCents: 1000, lineItems })
    const of = (item: Json) => refund(t, id, { lineItems: [item] })
    t.equal(t.expect(await of({ variantId: '1', quantity: 1 }), 200).refund.goodsCents, 2250, 'goodsCents')
    t.equal(t.expect(await of({ productId: '7', quantity: 1 }), 200).refund.goodsCents, 4500, 'goodsCents')
    t.expect(await of({ variantId: '1', quantity: 2 }), 409, 'refund_exceeds_order')
    t.expect(await of({ variantId: '8', quantity: 1 }), 400, 'refund_item_unknown')
    t.equal(t.expect(await of({ variantId: '1', quantity: 1 }), 200).data.orderStatus, 'REFUNDED', 'orderStatus')
  })
}

function bulk(rule: Define): void {
  rule('many', 'moderate changes the commissions that allow it, and lists the others', async (t) => {
    const [a, b, unknown] = [await pending(t), await pending(t), t.id('unknown')]
    await moved(t, b.id, 'cancel')
    const skipped = [
      { id: b.id, code: 'commission_move_not_allowed' },
      { id: unknown, code: 'commission_not_found' },
    ]
    const done = await moderate(t, { action: 'approve', ids: [a.id, b.id, unknown] })
    t.fields(done, { changed: 1, skipped }, 'data')
  })
  rule('many-by-filter', 'moderate by a filter changes matching commissions; a dry run counts them', async (t) => {
    const [affiliate, day] = [await t.affiliateOf({ autoApproveOrder: false }), t.day()]
    const order = { ...goods, couponCode: affiliate.discountCode }
    for (const ms of [0, 1, 1000]) await t.order({ ...order, occurredAt: after(day, ms) })
    const change = { action: 'approve', filter: { affiliateId: affiliate.id, to: after(day, 1) } }
    t.fields(await moderate(t, { ...change, dryRun: true }), { changed: 0, remaining: 2, dryRun: true }, 'the dry run')
    const statuses = async () => (await t.rowsOf(affiliate.id)).map((row) => row.orderStatus)
    t.equal(await statuses(), ['PENDING', 'PENDING', 'PENDING'], 'statuses after the dry run')
    const done = { action: 'approve', dryRun: false, skipped: [], remaining: 0 }
    t.equal(await moderate(t, { ...change, dryRun: null }), { ...done, changed: 2 }, 'data')
    t.equal(await statuses(), ['PENDING', 'APPROVED', 'APPROVED'], 'statuses')
    t.equal(await moderate(t, change), { ...done, changed: 0 }, 'data of the second change')
  })
  rule(
    'many-in-batch',
    'Canceling many of an open batch updates its total, and reversing paid ones adjusts each',
    async (t) => {
      const [affiliate, day] = [await t.affiliate(), t.day()]
      const ids: string[] = []
      for (const _ of [1, 2, 3])
        ids.push((await t.order({ ...goods, couponCode: affiliate.discountCode, occurredAt: day })).commission.id)
      const { id } = t.expect(await t.post('/payouts', t.periodOf(day, affiliate)), 200).data
      t.equal((await moderate(t, { action: 'cancel', ids: ids.slice(0, 1) })).changed, 1, 'changed')
      const { totals } = t.expect(await t.get('/payouts', { id }), 200).data[0]
      t.fields(totals, { commissions: 2, commissionCents: 3200, netPayableCents: 3200 }, 'totals')
      await t.pay(id)
      const { changed } = await moderate(t, { action: 'reverse', filter: { affiliateId: affiliate.id } })
      t.equal(changed, 2, 'changed')
      const adjustments = (await t.rowsOf(affiliate.id)).filter((row) => row.trackingMethod === 'ADJUSTMENT')
      t.equal(
        adjustments.map((row) => row.commissionAmountCents),
        [-1600, -1600],
        'amounts of the adjustments',
      )
    },
  )
}

function batches(rule: Define): void {
  rule(
    'cancel-batch',
    'Canceling an open batch makes it FAILED, and its commissions can be paid by another one',
    async (t) => {
      const { id, affiliate, day, externalOrderId } = await t.batch()
      const canceled = t.expect(await t.owner('POST', `/payouts/${id}/cancel`), 200).data
      t.equal([canceled.status, canceled.totals.commissions], ['FAILED', 0], 'status and commissions')
      t.fields(await t.commissionOf(externalOrderId), { orderStatus: 'APPROVED', payoutBatchId: null }, 'commission')
      t.expect(await t.patch(`/payouts?id=${id}&action=pay`), 409, 'payout_not_payable')
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
