import { describe, expect } from 'vitest'
import type { Reply } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { till, useReportedOrders } from './support/reported-orders.ts'

const { nextId, refund, cancel, order, rowOf, explain, payOctober, sumOf } = useReportedOrders()

describe('a cancellation', () => {
  test('200 of an unpaid commission, once', async () => {
    const id = nextId()
    await expectOk(order(id))
    const first = await cancel(id)
    expect([first.status, first.body]).toMatchObject([
      200,
      {
        message: 'Order canceled.',
        outcome: 'applied',
        changed: true,
        commission: { status: 'CANCELED', amountCents: 1440 },
        commissionCents: -1440,
        adjustmentId: null,
      },
    ])
    expect((await cancel(id)).body).toMatchObject({
      message: 'Order was already canceled.',
      changed: false,
      commissionCents: 0,
    })
  })

  test('200 of a paid commission: REVERSED, and an adjustment takes back what refunds have left', async () => {
    const id = nextId()
    await expectOk(order(id))
    await payOctober()
    await expectOk(refund(id, 'r-1', 3000))
    const { body } = await cancel(id)
    expect(body).toMatchObject({ commission: { status: 'REVERSED', amountCents: 1440 }, commissionCents: -960 })
    expect((await till.rows()).find((row) => row.id === body.adjustmentId)).toMatchObject({
      orderId: `adj:${body.commission.id}:reversal`,
      commissionAmountCents: -960,
    })
    expect((await refund(id, 'r-2', 3000)).body).toMatchObject({ refund: { commissionCents: 0 } })
    expect((await cancel(id)).body).toMatchObject({ changed: false, commissionCents: 0 })
    expect(await sumOf()).toBe(0)
  })

  test('202 before its order: the order is recorded and canceled at once', async () => {
    const id = nextId()
    const early = await cancel(id)
    expect([early.status, early.body]).toMatchObject([202, { outcome: 'stored', changed: true, commission: null }])
    expect((await cancel(id)).body).toMatchObject({ changed: false })
    const { body } = await order(id)
    expect(body.commission).toMatchObject({ status: 'APPROVED', amountCents: 1440 })
    expect(await rowOf(id)).toMatchObject({ orderStatus: 'CANCELED' })
    expect((await explain(id)).notices).toMatchObject([{ type: 'cancellation', applied: true }])
  })

  test('with refunds: the same commission in any order', async () => {
    const steps: Record<string, (id: string) => Promise<Reply>> = {
      o: (id) => order(id),
      a: (id) => refund(id, 'r-1', 3000),
      b: (id) => refund(id, 'r-2', 6000),
      c: (id) => cancel(id),
    }
    const expected = { abco: 'REFUNDED', aco: 'CANCELED' } as const
    for (const [all, orderStatus] of Object.entries(expected)) {
      for (const sequence of permutations([...all])) {
        const id = nextId()
        for (const step of sequence) await expectOk(steps[step]!(id))
        const commissionAmountCents = orderStatus === 'REFUNDED' ? 0 : 960
        expect([sequence.join(''), await rowOf(id)]).toMatchObject([
          sequence.join(''),
          { orderStatus, commissionAmountCents },
        ])
      }
    }
  })
})

function permutations<T>(items: T[]): T[][] {
  if (items.length <= 1) return [items]
  return items.flatMap((item, i) => permutations(items.filter((_, n) => n !== i)).map((rest) => [item, ...rest]))
}
