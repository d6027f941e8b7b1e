import { describe, expect } from 'vitest'
import { codeOf, OCTOBER } from '../commissions/money.ts'
import { auditLog, outbox } from '../support/inspect.ts'
import { expectOk, newAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { till, useReportedOrders } from './support/reported-orders.ts'

const { nextId, refund, cancelRefund, cancel, order, rowOf, explain, payOctober } = useReportedOrders()

describe('canceling a refund', () => {
  test('200 of an unpaid commission: it is what it would be without the refund', async ({ server }) => {
    const shop = { ...server, ...server.asShop(till.shop) }
    const webhook = { url: 'https://hooks.example.com/', extendedEvents: true }
    await expectOk(server.request('POST', '/api/v1/webhooks', { key: till.shop.key, body: webhook }))
    const [events, audits] = [outbox(shop), auditLog(shop)]
    const id = nextId()
    await expectOk(order(id))
    await expectOk(refund(id, 're-1', 9000))
    await expectOk(refund(id, 're-2', 3000))
    const reply = await cancelRefund(` ${id}`, 're-1\u200b')
    expect([reply.status, reply.body]).toMatchObject([
      200,
      {
        ok: true,
        message: 'Refund canceled.',
        outcome: 'applied',
        changed: true,
        externalOrderId: id,
        externalRefundId: 're-1',
        refundedCents: 3000,
        commission: { status: 'APPROVED', amountCents: 960 },
        commissionCents: 960,
        adjustmentId: null,
      },
    ])
    expect(await rowOf(id)).toMatchObject({ orderStatus: 'APPROVED', commissionAmountCents: 960 })
    const entry = { externalRefundId: 're-1:canceled', goodsCents: -6000, commissionCents: 960 }
    expect(audits().at(-1)).toMatchObject({ action: 'commission.refunded', data: { ...entry, status: 'APPROVED' } })
    expect(events().at(-1)).toMatchObject({
      event: 'commission.refunded',
      data: { orderStatus: 'APPROVED', previousStatus: 'REFUNDED', refund: entry },
    })
    const { refunds, arithmetic } = await explain(id)
    expect(refunds.at(-1)).toMatchObject(entry)
    expect(arithmetic.at(-1)).toMatchObject({ step: 'now', cents: 960 })
    for (const report of [() => refund(id, 're-1', 1000), () => cancelRefund(id, 're-1')])
      expect((await report()).body).toMatchObject({
        changed: false,
        refundedCents: 3000,
        commission: { amountCents: 960 },
      })
  })

  test('200 of a paid commission: a positive adjustment compensates the negative one, which stays', async () => {
    const id = nextId()
    await expectOk(order(id))
    await payOctober()
    await expectOk(refund(id, 're-1', 3000))
    const { body } = await cancelRefund(id, 're-1')
    expect(body).toMatchObject({
      outcome: 'applied',
      commission: { status: 'PAID', amountCents: 1440 },
      commissionCents: 480,
    })
    const adjustments = (await till.rows()).filter(({ trackingMethod }) => trackingMethod === 'ADJUSTMENT')
    expect(adjustments).toMatchObject([
      { orderId: `adj:${body.commission.id}:re-1`, commissionAmountCents: -480 },
      { id: body.adjustmentId, orderId: `adj:${body.commission.id}:re-1:canceled`, commissionAmountCents: 480 },
    ])
    expect((await cancelRefund(id, 're-1')).body).toMatchObject({ changed: false, adjustmentId: body.adjustmentId })
  })

  test('200 of a commission that was paid less because of the refund', async () => {
    const id = nextId()
    await expectOk(order(id))
    await expectOk(refund(id, 're-1', 3000))
    await payOctober()
    const { body } = await cancelRefund(id, 're-1')
    expect(body).toMatchObject({ commission: { status: 'PAID', amountCents: 960 }, commissionCents: 480 })
    expect(body.adjustmentId).toMatch(/^com_/)
  })

  test('200 of a commission in an open batch: the total of the batch follows', async () => {
    const [kept, refunded] = [nextId(), nextId()]
    for (const id of [kept, refunded]) await expectOk(order(id))
    await expectOk(refund(kept, 're-1', 3000))
    const { id } = await expectOk(till.batch(OCTOBER))
    await expectOk(cancelRefund(kept, 're-1'))
    expect((await till.batchOf(id)).totals).toMatchObject({ commissions: 2, commissionCents: 2880 })
    await expectOk(refund(refunded, 're-1', 9000))
    expect((await till.batchOf(id)).totals).toMatchObject({ commissions: 1, commissionCents: 1440 })
    await expectOk(cancelRefund(refunded, 're-1'))
    // It left the batch with the refund, and another batch can pay it.
    expect(await rowOf(refunded)).toMatchObject({
      orderStatus: 'APPROVED',
      payoutBatchId: null,
      commissionAmountCents: 1440,
    })
    await till.checkBatches()
  })

  test.for([
    ['PENDING', [], 1440],
    ['APPROVED', ['approve'], 1440],
    ['CANCELED', ['approve', 'cancel'], 1440],
  ] as const)('restores the status %s', async ([orderStatus, moves, amountCents]) => {
    await till.affiliate('MANUAL', { autoApproveOrder: false })
    const id = nextId()
    await expectOk(order(id, { couponCode: 'MANUAL' }))
    for (const move of moves) await expectOk(till.act(move, (await rowOf(id)).id))
    await expectOk(refund(id, 're-1', 9000))
    expect((await rowOf(id)).orderStatus).toBe('REFUNDED')
    await expectOk(cancelRefund(id, 're-1'))
    expect(await rowOf(id)).toMatchObject({ orderStatus, commissionAmountCents: amountCents })
  })

  test('an order that was canceled after it was refunded in full is CANCELED', async () => {
    const id = nextId()
    await expectOk(order(id))
    await expectOk(refund(id, 're-1', 9000))
    expect((await cancel(id)).body).toMatchObject({ changed: false, commission: { status: 'REFUNDED' } })
    await expectOk(cancelRefund(id, 're-1'))
    expect(await rowOf(id)).toMatchObject({ orderStatus: 'CANCELED' })
  })

  test('reaches the refund of an owner, and no order of another shop', async ({ server }) => {
    const id = nextId()
    await expectOk(order(id))
    await expectOk(till.refund((await rowOf(id)).id, 're-1', 3000))
    const { key } = await server.createShop()
    const query = `externalOrderId=${id}&externalRefundId=re-1`
    expect((await server.request('DELETE', `/api/v1/refunds?${query}`, { key })).status).toBe(202)
    expect(await rowOf(id)).toMatchObject({ commissionAmountCents: 960 })
    expect((await cancelRefund(id, 're-1')).body).toMatchObject({ commission: { amountCents: 1440 } })
  })

  test('of a rejected commission counts when it is reopened', async () => {
    const affiliate = await newAffiliate(till.server, { key: till.shop.key, code: 'LATER' })
    const setStatus = (status: string) =>
      expectOk(
        till.server.request('PATCH', `/api/v1/affiliates?id=${affiliate.id}`, { key: till.shop.key, body: { status } }),
      )
    await setStatus('PENDING')
    const id = nextId()
    await expectOk(order(id, { couponCode: 'LATER' }))
    await expectOk(refund(id, 're-1', 3000))
    expect((await cancelRefund(id, 're-1')).body).toMatchObject({
      commissionCents: 0,
      commission: { status: 'REJECTED' },
    })
    await setStatus('APPROVED')
    expect(await expectOk(till.act('reopen', (await rowOf(id)).id))).toMatchObject({ commissionAmountCents: 1440 })
  })
})

describe('before its refund', () => {
  test('202 and kept: the refund then changes nothing', async () => {
    const [known, unknown] = [nextId(), nextId()]
    await expectOk(order(known))
    for (const id of [known, unknown]) {
      const early = await cancelRefund(id, 're-1')
      expect([early.status, early.body]).toMatchObject([202, { outcome: 'stored', changed: true, commissionCents: 0 }])
      const again = await cancelRefund(id, 're-1')
      expect([again.status, again.body.changed]).toEqual([202, false])
    }
    expect((await refund(known, 're-1', 3000)).body).toMatchObject({ outcome: 'applied', changed: false })
    expect((await refund(unknown, 're-1', 3000)).body).toMatchObject({ outcome: 'stored', refundedCents: 0 })
    await expectOk(order(unknown))
    for (const id of [known, unknown]) expect(await rowOf(id)).toMatchObject({ commissionAmountCents: 1440 })
    expect((await explain(unknown)).notices).toMatchObject([
      { type: 'refund_cancellation', externalRefundId: 're-1', applied: true },
      { type: 'refund', externalRefundId: 're-1', applied: true },
    ])
  })

  test('200 when the refund is noted, because no affiliate was credited', async () => {
    const id = nextId()
    await expectOk(order(id, { couponCode: 'NOBODY' }))
    await expectOk(refund(id, 're-1', 3000))
    const noted = await cancelRefund(id, 're-1')
    expect([noted.status, noted.body]).toMatchObject([200, { outcome: 'noted', changed: true, refundedCents: 0 }])
    await expectOk(order(id))
    expect(await rowOf(id)).toMatchObject({ commissionAmountCents: 1440 })
  })

  test('a refund that never comes changes nothing', async () => {
    const id = nextId()
    await expectOk(cancelRefund(id, 're-1'))
    await expectOk(order(id))
    await expectOk(cancelRefund(id, 're-2'))
    await expectOk(refund(id, 're-3', 3000))
    expect(await rowOf(id)).toMatchObject({ commissionAmountCents: 960 })
  })
})

test.for(['reversal', 're-1:canceled', '\u200b'])('400 for the refund id %j', async (refundId) => {
  expect(codeOf(await cancelRefund(nextId(), refundId))).toEqual([400, 'invalid_parameter'])
  expect(codeOf(await refund(nextId(), refundId, 1))).toEqual([400, 'invalid_body'])
})
