import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { deleteRows } from '../support/inspect.ts'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { codeOf, NOVEMBER, Till } from './money.ts'

let till: Till

test.beforeEach(async ({ server }) => {
  till = new Till(server, await server.createShop())
  await till.affiliate()
})

const adjustments = async () => (await till.rows()).filter((row) => row.trackingMethod === 'ADJUSTMENT')
const paidOrder = async (given: object = {}) => {
  const id = await till.order(given)
  await expectOk(till.pay((await expectOk(till.batch())).id))
  return id
}

test('refunds from before totals were stored count in the next refund', async ({ server }) => {
  const lineItems = [{ variantId: '1', quantity: 4, priceCents: 2500 }]
  const id = await till.order({ amountCents: undefined, lineItems })
  const refundPieces = (externalRefundId: string, quantity: number) =>
    till.admin('POST', `/commissions/${id}/refund`, { externalRefundId, lineItems: [{ variantId: '1', quantity }] })
  await expectOk(refundPieces('a', 2))
  await expectOk(till.refund(id, 'b', 1000))
  deleteRows(server, 'refundTotals')
  const reply = await refundPieces('c', 3)
  expect(codeOf(reply)).toEqual([409, 'refund_exceeds_order'])
  expect(reply.body.error).toContain('40.00 USD')
  expect((await refundPieces('c', 1)).body.data.commissionAmountCents).toBe(240)
  expect((await till.refund(id, 'd')).body.data).toMatchObject({ commissionAmountCents: 0, orderStatus: 'REFUNDED' })
})

describe('after payment', () => {
  test('200 with tax: the adjustment is net of the tax withheld', async () => {
    await expectOk(till.admin('PATCH', '/settings', { taxWithholdingBps: 1000 }))
    const id = await paidOrder()
    await expectOk(till.admin('PATCH', '/settings', { taxWithholdingBps: 5000 }))
    await expectOk(till.refund(id, 'a', 3000))
    expect((await adjustments())[0]).toMatchObject({ commissionAmountCents: -480, taxWithheldCents: -48 })
  })

  test('200 a debt without later earnings is carried to the next month', async ({ server }) => {
    const id = await paidOrder()
    await expectOk(till.refund(id, 'a'))
    await till.order({ amountCents: 1000, occurredAt: '2026-11-02T00:00:00.000Z' })
    const november = await expectOk(till.batch(NOVEMBER))
    expect(november.totals.netPayableCents).toBe(0)
    await expectOk(till.pay(november.id))
    const open = (await adjustments()).filter((row) => row.orderStatus === 'APPROVED')
    expect(open).toMatchObject([{ commissionAmountCents: -1280, happenedAt: '2026-12-01T00:00:00.000Z' }])
    server.clock.advance(40 * 86_400_000)
    await till.order({ amountCents: 10_000, occurredAt: '2026-12-05T00:00:00.000Z' })
    const december = await expectOk(till.batch({ periodStart: '2026-12-01', periodEnd: '2026-12-31T23:59:59.999Z' }))
    expect(december.totals.netPayableCents).toBe(320)
    await till.checkBatches()
  })
})

test('splitting a refund changes neither the commission, nor its tax, nor the adjustments', async () => {
  await expectOk(till.admin('PATCH', '/settings', { taxWithholdingBps: 777 }))
  const cuts = fc.record({
    amountCents: fc.integer({ min: 1, max: 20_000 }),
    parts: fc.array(fc.integer({ min: 0, max: 5000 }), { minLength: 1, maxLength: 3 }),
    isPaid: fc.boolean(),
  })
  const property = fc.asyncProperty(cuts, async ({ amountCents, parts, isPaid }) => {
    let left = amountCents
    const fitting = parts.map((part) => {
      const cents = Math.min(part, left)
      left -= cents
      return cents
    })
    const whole = fitting.reduce((sum, part) => sum + part, 0)
    const make = () => (isPaid ? paidOrder({ amountCents }) : till.order({ amountCents }))
    const totals = async (id: string) => {
      const rows = (await till.rows()).filter((row) => row.id === id || row.orderId.startsWith(`adj:${id}:`))
      return rows
        .map((row) => [row.commissionAmountCents, row.taxWithheldCents])
        .reduce(([cents = 0, tax = 0], [moreCents = 0, moreTax = 0]) => [cents + moreCents, tax + moreTax], [0, 0])
    }
    // An amount of nothing goes into no batch, so it is never paid.
    if (isPaid && amountCents < 4) return
    const [one, many] = [await make(), await make()]
    if (whole > 0) await expectOk(till.refund(one, 'whole', whole))
    for (const [index, part] of fitting.filter(Boolean).entries())
      await expectOk(till.refund(many, `part-${index}`, part))
    expect(await totals(many)).toEqual(await totals(one))
  })
  await fc.assert(property, { numRuns: 30 })
})
