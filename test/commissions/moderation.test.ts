import { describe, expect } from 'vitest'
import { updateRows } from '../support/inspect.ts'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { codeOf, IN_OCTOBER, NOVEMBER, Till } from './money.ts'

let till: Till

test.beforeEach(async ({ server }) => {
  till = new Till(server, await server.createShop())
  await till.affiliate()
})

/** A status of older data, which nothing sets any more. */
test.for([
  ['approve', null],
  ['reject', 'REJECTED'],
  ['cancel', 'CANCELED'],
  ['reverse', null],
  ['reopen', null],
  ['refund', 'REFUNDED'],
] as const)('%s of an ACCEPTED commission: %s', async ([action, to], { server }) => {
  const id = await till.order()
  updateRows(server, 'commissions', { orderStatus: 'ACCEPTED' }, { id })
  const reply = await (action === 'refund' ? till.refund(id, 'all') : till.act(action, id))
  expect(codeOf(reply)).toEqual(to ? [200, null] : [409, 'commission_move_not_allowed'])
  expect((await till.row(id)).orderStatus).toBe(to ?? 'ACCEPTED')
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

test('a canceled batch removes the debt that it carried forward', async () => {
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
