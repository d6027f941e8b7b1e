import { describe, expect } from 'vitest'
import { updateRows } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { convert, expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { codeOf, IN_OCTOBER, NOVEMBER, OCTOBER, Till } from './money.ts'

let till: Till

test.beforeEach(async ({ server }) => {
  till = new Till(server, await server.createShop())
  await till.affiliate()
})

const STATUSES = [
  'PENDING',
  'APPROVED',
  'ACCEPTED',
  'PAYABLE',
  'PAID',
  'REJECTED',
  'CANCELED',
  'REVERSED',
  'REFUNDED',
] as const
type Status = (typeof STATUSES)[number]
/** The status after each action, by the status before it. All others are rejected. */
const MOVES: Record<string, Record<string, string>> = {
  approve: { PENDING: 'APPROVED' },
  reject: { PENDING: 'REJECTED', APPROVED: 'REJECTED', ACCEPTED: 'REJECTED' },
  cancel: { PENDING: 'CANCELED', APPROVED: 'CANCELED', ACCEPTED: 'CANCELED', PAYABLE: 'CANCELED' },
  reverse: { PAID: 'REVERSED' },
  reopen: { REJECTED: 'PENDING' },
  refund: { PENDING: 'REFUNDED', APPROVED: 'REFUNDED', ACCEPTED: 'REFUNDED', PAYABLE: 'REFUNDED', PAID: 'PAID' },
}

/** Two of the statuses come only from older data, and the others would take many requests each. */
const setStatus = (server: TestServer, id: string, orderStatus: Status) =>
  updateRows(server, 'commissions', { orderStatus }, { id })

describe.each(Object.entries(MOVES))('%s', (action, moves) => {
  test.for(STATUSES)('from the status %s', async (from, { server }) => {
    const id = await till.order()
    if (from === 'PAYABLE') await expectOk(till.batch())
    else setStatus(server, id, from)
    const reply = await (action === 'refund' ? till.refund(id, 'all') : till.act(action, id))
    const to = moves[from]
    if (to) {
      expect([reply.status, reply.body.data.orderStatus, (await till.row(id)).orderStatus]).toEqual([200, to, to])
      expect((await till.row(id)).payoutBatchId).toBeNull()
    } else {
      expect(reply.status).toBe(409)
      expect(['commission_move_not_allowed', 'refund_exceeds_order']).toContain(reply.headers.get('X-Error-Code'))
      expect((await till.row(id)).orderStatus).toBe(from)
    }
    await till.checkBatches()
  })
})

test('with autoApproveOrder off, from the conversion to a paid batch with documented calls only', async ({
  server,
}) => {
  const { key } = till.shop
  const program = await expectOk(server.request('POST', '/api/v1/programs', { key, body: { name: 'By hand' } }))
  const affiliate = await expectOk(
    server.request('POST', '/api/v1/affiliates', {
      key,
      body: { email: 'ada@example.com', name: 'Ada', campaignId: program.id },
    }),
  )
  await expectOk(
    server.request('PATCH', `/api/v1/affiliates?id=${affiliate.id}`, { key, body: { status: 'APPROVED' } }),
  )
  const order = { externalOrderId: '1', amountCents: 9000, couponCode: affiliate.discountCode, occurredAt: IN_OCTOBER }
  const { commission } = await expectOk(convert(server, order, { key }))
  expect(commission.status).toBe('PENDING')
  expect(codeOf(await till.batch())).toEqual([404, 'no_eligible_commissions'])
  expect((await expectOk(till.act('approve', commission.id))).orderStatus).toBe('APPROVED')
  const batch = await expectOk(till.batch())
  expect(batch.totals).toMatchObject({ commissions: 1, netPayableCents: 1440 })
  await expectOk(till.pay(batch.id))
  const { body } = await server.request('GET', '/api/v1/commissions?externalOrderId=1', { key })
  expect(body.data[0]).toMatchObject({ orderStatus: 'PAID', payoutBatchId: batch.id })
})

describe('reopen', () => {
  const pendingAffiliate = async (server: TestServer) => {
    const affiliate = await till.affiliate('LATER')
    const set = (status: string) =>
      expectOk(
        server.request('PATCH', `/api/v1/affiliates?id=${affiliate.id}`, { key: till.shop.key, body: { status } }),
      )
    await set('PENDING')
    return { affiliate, set }
  }

  test('decides with current statuses and the recorded rate, and the replay still matches', async ({ server }) => {
    const { affiliate, set } = await pendingAffiliate(server)
    const id = await till.order({ couponCode: 'LATER', externalOrderId: 'late' })
    expect(await till.row(id)).toMatchObject({
      orderStatus: 'REJECTED',
      restrictionReasonCode: 'AFFILIATE_NOT_APPROVED',
    })
    expect(codeOf(await till.act('reopen', id))).toEqual([409, 'commission_still_restricted'])
    await set('APPROVED')
    await expectOk(
      server.request('PATCH', `/api/v1/programs?id=${affiliate.campaignId}`, {
        key: till.shop.key,
        body: { commissionPercent: 50 },
      }),
    )
    const row = await expectOk(till.act('reopen', id))
    expect(row).toMatchObject({ orderStatus: 'PENDING', commissionAmountCents: 1440, restrictionReasonCode: null })
    const explained = await expectOk(till.admin('GET', '/orders/late/explanation'))
    expect([explained.outcome, explained.replay.identical]).toEqual(['CREDITED', true])
    expect((await till.refund(id, 'r', 3000)).body.data.commissionAmountCents).toBe(960)
  })

  test('after a restriction pays what a refund in between has left, once', async ({ server }) => {
    const { set } = await pendingAffiliate(server)
    const id = await till.order({ couponCode: 'LATER', externalOrderId: 'late' })
    const send = (path: string, body: object) => server.request('POST', `/api/v1/${path}`, { key: till.shop.key, body })
    await expectOk(send('refunds', { externalOrderId: 'late', externalRefundId: 'r-1', amountCents: 3000 }))
    await set('APPROVED')
    for (const action of ['reopen', 'approve']) {
      const row = await expectOk(till.act(action, id))
      expect(row).toMatchObject({ commissionAmountCents: 960, restrictionReasonCode: null })
    }
    const period = { periodStart: '2020-01-01', periodEnd: '2099-01-01' }
    const { totals } = await expectOk(send('payouts', period))
    expect(totals).toMatchObject({ commissions: 1, commissionCents: 960, netPayableCents: 960 })
    expect(codeOf(await send('payouts', period))).toEqual([404, 'no_eligible_commissions'])
  })

  test('keeps earlier refunds', async () => {
    const id = await till.order()
    await expectOk(till.refund(id, 'r', 3000))
    await expectOk(till.act('reject', id))
    expect(await expectOk(till.act('reopen', id))).toMatchObject({ orderStatus: 'PENDING', commissionAmountCents: 960 })
  })
})

describe('refunds of a rejected commission count when it is reopened, in statement and explanation', () => {
  const refund = { method: 'POST', path: 'refunds' }
  const cancelRefund = { method: 'DELETE', path: 'refunds?externalOrderId=odd&externalRefundId=r-1' }
  test.for([
    { name: 'a refund', before: [], after: [refund], left: 960 },
    { name: 'a refund that was canceled', before: [], after: [refund, cancelRefund], left: 1440 },
    { name: 'the cancellation of an earlier one', before: [refund], after: [cancelRefund], left: 1440 },
  ])('$name', async ({ before, after, left }, { server }) => {
    await expectOk(till.admin('PATCH', '/settings', { taxWithholdingBps: 1000 }))
    const id = await till.order({ externalOrderId: 'odd' })
    const body = { externalOrderId: 'odd', externalRefundId: 'r-1', amountCents: 3000, occurredAt: IN_OCTOBER }
    const send = ({ method, path }: typeof refund) =>
      expectOk(server.request(method, `/api/v1/${path}`, { key: till.shop.key, ...(method === 'POST' && { body }) }))
    for (const one of before) await send(one)
    await expectOk(till.act('reject', id))
    for (const one of after) await send(one)
    const { affiliateId } = await expectOk(till.act('reopen', id))
    expect(await expectOk(till.act('approve', id))).toMatchObject({ commissionAmountCents: left })

    const { arithmetic } = await expectOk(till.admin('GET', '/orders/odd/explanation'))
    expect(arithmetic.at(-1).cents).toBe(left)
    const { body: statement } = await till.admin('GET', `/affiliates/${affiliateId}/statement?month=2026-10`)
    const [order, ...refunds] = statement.lines
    expect(order).toMatchObject({ kind: 'ORDER', commissionCents: 1440, taxWithheldCents: 144 })
    const taken = refunds.reduce((sum: number, line: { commissionCents: number }) => sum + line.commissionCents, 0)
    expect(1440 + taken).toBe(left)
  })
})

describe('bulk changes', () => {
  test('200 by a filter that nothing matches', async () => {
    const filter = { affiliateId: 'aff_none' }
    const done = await expectOk(till.admin('POST', '/commissions/moderate', { action: 'approve', filter }))
    expect(done).toEqual({ action: 'approve', dryRun: false, changed: 0, skipped: [], remaining: 0 })
  })

  test('200 by filter: only matching commissions in a valid status', async () => {
    const other = await till.affiliate('SECND', { autoApproveOrder: false })
    await till.affiliate('THIRD', { autoApproveOrder: false })
    await till.order()
    const mine = [await till.order({ couponCode: 'SECND' }), await till.order({ couponCode: 'SECND' })]
    const late = await till.order({ couponCode: 'SECND', occurredAt: '2026-11-01T00:00:00.000Z' })
    const third = await till.order({ couponCode: 'THIRD' })
    const filter = { affiliateId: other.id, to: '2026-10-31T23:59:59.999Z' }
    const preview = await expectOk(
      till.admin('POST', '/commissions/moderate', { action: 'approve', filter, dryRun: true }),
    )
    expect(preview).toMatchObject({ changed: 0, remaining: 2, dryRun: true })
    expect((await till.row(mine[0]!)).orderStatus).toBe('PENDING')
    const done = await expectOk(
      till.admin('POST', '/commissions/moderate', { action: 'approve', filter, dryRun: null }),
    )
    expect(done).toEqual({ action: 'approve', dryRun: false, changed: 2, skipped: [], remaining: 0 })
    const rows = await till.rows()
    expect([...mine, late, third].map((id) => rows.find((row) => row.id === id)?.orderStatus)).toEqual([
      'APPROVED',
      'APPROVED',
      'PENDING',
      'PENDING',
    ])
    expect(await expectOk(till.admin('GET', '/audit?action=commission.approved'))).toHaveLength(2)
  })

  test('200 by id: commissions in an invalid status are reported and unchanged', async ({ server }) => {
    const [a, b] = [await till.order(), await till.order()]
    setStatus(server, b, 'PAID')
    const ids = [a, b, 'com_none']
    const done = await expectOk(till.admin('POST', '/commissions/moderate', { action: 'reject', ids }))
    expect(done.changed).toBe(1)
    expect(done.skipped).toEqual([
      { id: b, code: 'commission_move_not_allowed' },
      { id: 'com_none', code: 'commission_not_found' },
    ])
  })

  test('200 canceling half of an open batch updates its totals', async () => {
    const ids = [await till.order(), await till.order(), await till.order()]
    const { id } = await expectOk(till.batch())
    await expectOk(till.admin('POST', '/commissions/moderate', { action: 'cancel', ids: ids.slice(0, 2) }))
    expect((await till.batchOf(id)).totals).toMatchObject({ commissions: 1, netPayableCents: 1440 })
    await expectOk(till.admin('POST', '/commissions/moderate', { action: 'cancel', filter: {} }))
    expect(await till.batchOf(id)).toMatchObject({ status: 'FAILED', totals: { commissions: 0, netPayableCents: 0 } })
  })

  test('200 reversing by filter creates an adjustment for each', async () => {
    await till.order()
    await till.order()
    const { id } = await expectOk(till.batch())
    await expectOk(till.pay(id))
    expect(
      await expectOk(till.admin('POST', '/commissions/moderate', { action: 'reverse', filter: {} })),
    ).toMatchObject({ changed: 2 })
    expect(
      (await till.rows()).filter((row) => row.trackingMethod === 'ADJUSTMENT').map((row) => row.commissionAmountCents),
    ).toEqual([-1440, -1440])
  })
})

describe('a canceled batch', () => {
  test('releases its commissions, and another batch selects them', async () => {
    const id = await till.order()
    const first = await expectOk(till.batch())
    const canceled = await expectOk(till.cancelBatch(first.id))
    expect(canceled).toMatchObject({
      status: 'FAILED',
      failureReason: 'The batch was canceled.',
      totals: { commissions: 0 },
    })
    expect(await till.row(id)).toMatchObject({ orderStatus: 'APPROVED', payoutBatchId: null })
    expect(codeOf(await till.pay(first.id))).toEqual([409, 'payout_not_payable'])
    const second = await expectOk(till.batch())
    expect(second.totals.netPayableCents).toBe(1440)
    await expectOk(till.pay(second.id))
    expect(codeOf(await till.cancelBatch(second.id))).toEqual([409, 'payout_not_cancelable'])
    await till.checkBatches()
  })

  test('removes the debt that it carried forward', async () => {
    const paid = await till.order({ occurredAt: '2026-09-10T00:00:00.000Z' })
    const september = { periodStart: '2026-09-01', periodEnd: '2026-09-30T23:59:59.999Z' }
    await expectOk(till.pay((await expectOk(till.batch(september))).id))
    await expectOk(till.act('reverse', paid))
    // The reversal happened in November; a small order of November cannot make up for it.
    await till.order({ amountCents: 1000, occurredAt: '2026-11-02T11:00:00.000Z' })
    const batch = await expectOk(till.batch(NOVEMBER))
    expect(batch.totals).toMatchObject({ commissions: 3, netPayableCents: 0 })
    await expectOk(till.cancelBatch(batch.id))
    const waiting = (await till.rows()).filter((row) => row.orderStatus === 'APPROVED')
    expect(waiting.map((row) => row.commissionAmountCents).sort()).toEqual([-1440, 160])
    const again = await expectOk(till.batch(NOVEMBER))
    expect(again.totals).toMatchObject({ commissions: 3, netPayableCents: 0 })
    await till.checkBatches()
  })
})

test('an adjustment is unchanged', async () => {
  const id = await till.order()
  await expectOk(till.pay((await expectOk(till.batch(OCTOBER))).id))
  await expectOk(till.act('reverse', id))
  const [adjustment] = (await till.rows()).filter((row) => row.trackingMethod === 'ADJUSTMENT')
  for (const action of ['approve', 'reject', 'cancel', 'reverse', 'reopen'])
    expect(codeOf(await till.act(action, adjustment!.id))).toEqual([409, 'commission_is_adjustment'])
  expect(codeOf(await till.refund(adjustment!.id, 'r'))).toEqual([409, 'commission_is_adjustment'])
})
