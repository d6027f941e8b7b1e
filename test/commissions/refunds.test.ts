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

describe('before payment', () => {
  test('200 with 9000 at 16%: 3000 take 480, three times 3000 take all', async () => {
    const id = await till.order()
    const first = await till.refund(id, 'a', 3000)
    expect(first.body.data).toMatchObject({
      commissionBaseCents: 9000,
      remainingBaseCents: 6000,
      commissionAmountCents: 960,
      orderStatus: 'APPROVED',
    })
    expect(first.body.refund).toMatchObject({
      goodsCents: 3000,
      commissionCents: -480,
      taxCents: 0,
      adjustmentId: null,
    })
    await expectOk(till.refund(id, 'b', 3000))
    expect((await till.refund(id, 'c', 3000)).body.data).toMatchObject({
      commissionAmountCents: 0,
      orderStatus: 'REFUNDED',
    })
    expect(await adjustments()).toEqual([])
  })

  test('200 a repeated refund id changes nothing, whatever the other fields', async () => {
    const id = await till.order()
    const first = await till.refund(id, 'a', 3000)
    const again = await till.refund(id, 'a', 9000)
    expect([again.status, again.body]).toEqual([200, first.body])
    const many = await Promise.all(Array.from({ length: 8 }, () => till.refund(id, 'b', 1000)))
    expect(many.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect((await till.row(id)).commissionAmountCents).toBe(800)
  })

  test('200 the same refund id in another spelling changes nothing; a reserved name is reserved in any spelling', async () => {
    const id = await till.order()
    await expectOk(till.refund(id, 'r1', 3000))
    for (const same of ['r1\u200b', 'r1\u0085', ' r1 ']) await expectOk(till.refund(id, same, 1000))
    expect((await till.row(id)).commissionAmountCents).toBe(960)
    expect(codeOf(await till.refund(id, 'reversal\u200b', 1))).toEqual([400, 'invalid_body'])
  })

  test('409 for more than the remainder, and nothing is written', async () => {
    const id = await till.order()
    await expectOk(till.refund(id, 'a', 8000))
    const reply = await till.refund(id, 'b', 1001)
    expect(codeOf(reply)).toEqual([409, 'refund_exceeds_order'])
    expect(reply.body.error).toContain('10.00 USD')
    expect((await till.row(id)).commissionAmountCents).toBe(160)
  })

  test('200 by line items, at the price they were sold for', async () => {
    const id = await till.order({
      amountCents: undefined,
      discountCents: 1000,
      lineItems: [
        { variantId: '1', quantity: 2, priceCents: 2500 },
        { productId: '7', quantity: 1, priceCents: 5000 },
      ],
    })
    const items = (lineItems: object[], externalRefundId: string) =>
      till.admin('POST', `/commissions/${id}/refund`, { externalRefundId, lineItems })
    expect((await items([{ variantId: '1', quantity: 1 }], 'a')).body.refund.goodsCents).toBe(2250)
    expect((await items([{ productId: '7', quantity: 1 }], 'b')).body.refund.goodsCents).toBe(4500)
    expect(codeOf(await items([{ variantId: '1', quantity: 2 }], 'c'))).toEqual([409, 'refund_exceeds_order'])
    expect(codeOf(await items([{ variantId: '8', quantity: 1 }], 'c'))).toEqual([400, 'refund_item_unknown'])
    expect((await items([{ variantId: '1', quantity: 1 }], 'c')).body.data.orderStatus).toBe('REFUNDED')
  })

  test('200 in an open batch: the totals are updated, and an emptied batch is FAILED', async () => {
    const [a, b] = [await till.order(), await till.order()]
    const { id } = await expectOk(till.batch())
    await expectOk(till.refund(a, 'r', 3000))
    expect((await till.batchOf(id)).totals).toMatchObject({ commissions: 2, netPayableCents: 2400 })
    await expectOk(till.refund(a, 's'))
    expect((await till.batchOf(id)).totals).toMatchObject({ commissions: 1, netPayableCents: 1440 })
    expect(await till.row(a)).toMatchObject({ orderStatus: 'REFUNDED', payoutBatchId: null })
    await expectOk(till.refund(b, 't'))
    expect((await till.batchOf(id)).status).toBe('FAILED')
    await till.checkBatches()
  })
})

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
  test('200 the commission stays PAID, and a negative adjustment is netted in the next batch', async ({ server }) => {
    const id = await paidOrder()
    const { data, refund } = (await till.refund(id, 'a', 3000)).body
    expect(data).toMatchObject({ orderStatus: 'PAID', remainingBaseCents: 9000, commissionAmountCents: 1440 })
    const [row] = await adjustments()
    expect(row).toMatchObject({
      id: refund.adjustmentId,
      orderId: `adj:${id}:a`,
      orderStatus: 'APPROVED',
      commissionAmountCents: -480,
      happenedAt: new Date(server.clock.ms).toISOString(),
    })
    await till.order({ occurredAt: '2026-11-02T00:00:00.000Z' })
    const batch = await expectOk(till.batch(NOVEMBER))
    expect(batch.totals).toMatchObject({ commissions: 2, netPayableCents: 960 })
  })

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

  test('200 a partial refund and a later reversal together take back exactly what was paid', async () => {
    const id = await paidOrder()
    await expectOk(till.refund(id, 'a', 3000))
    await expectOk(till.act('reverse', id))
    expect((await adjustments()).map((row) => row.commissionAmountCents)).toEqual([-480, -960])
    expect(codeOf(await till.refund(id, 'b', 100))).toEqual([409, 'commission_move_not_allowed'])
  })

  test('200 a refund that changes no commission writes no adjustment', async () => {
    await till.affiliate('FLAT', { commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 })
    const id = await paidOrder({ couponCode: 'FLAT' })
    const { refund } = (await till.refund(id, 'a', 3000)).body
    expect([refund.commissionCents, refund.adjustmentId, await adjustments()]).toEqual([0, null, []])
    expect((await till.refund(id, 'b')).body.refund.commissionCents).toBe(-500)
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
