import { describe, expect } from 'vitest'
import { codeOf, OCTOBER } from '../commissions/money.ts'
import { auditLog, outbox, subscribe } from '../support/inspect.ts'
import { expectOk, newAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { till, useReportedOrders } from './support/reported-orders.ts'

const { nextId, refund, cancel, order, rowOf, explain, payOctober } = useReportedOrders()

describe('a refund of a reported order', () => {
  test('200 with what was taken and the commission as it is now', async () => {
    const id = nextId()
    await expectOk(order(id))
    const reply = await refund(id, 'r-1', 3000, { reason: 'Damaged' })
    const { id: commissionId, affiliateId } = await rowOf(id)
    expect([reply.status, reply.body]).toEqual([
      200,
      {
        ok: true,
        message: 'Refund recorded.',
        dryRun: false,
        outcome: 'applied',
        changed: true,
        externalOrderId: id,
        orderId: `api:${id}`,
        externalRefundId: 'r-1',
        refund: {
          amountCents: 3000,
          lineItems: [],
          reason: 'Damaged',
          occurredAt: new Date(till.server.clock.ms).toISOString(),
          goodsCents: 3000,
          commissionCents: -480,
          taxCents: 0,
          adjustmentId: null,
        },
        refundedCents: 3000,
        commission: {
          id: commissionId,
          affiliateId,
          status: 'APPROVED',
          amountCents: 960,
          taxWithheldCents: 0,
          currency: 'USD',
        },
        warning: null,
      },
    ])
    expect(await rowOf(id)).toMatchObject({ commissionAmountCents: 960, orderStatus: 'APPROVED' })
  })

  test('200 the same refund id changes nothing, with any key, spelling or amount, by the backend or by an owner', async () => {
    const id = nextId()
    await expectOk(order(id))
    await expectOk(refund(id, 'r-1', 3000))
    const again = await refund(` ${id}\u200b`, ' r-1', 5000)
    expect(again.body).toMatchObject({
      changed: false,
      refund: { amountCents: 3000, commissionCents: -480 },
      warning: 'refund_differs',
    })
    expect((await refund(id, 'r-1', 3000, { reason: 'Damaged' })).body.warning).toBeNull()
    await expectOk(till.refund((await rowOf(id)).id, 'r-1', 100))
    const many = await Promise.all(Array.from({ length: 8 }, () => refund(id, 'r-2', 1000)))
    expect(many.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(many.filter(({ body }) => body.changed)).toHaveLength(1)
    expect(await rowOf(id)).toMatchObject({ commissionAmountCents: 800 })
  })

  test('200 of line items, at the price they were sold for', async () => {
    const id = nextId()
    const lineItems = [
      { productId: '1', variantId: '11', quantity: 2, priceCents: 3000 },
      { productId: '2', variantId: '21', quantity: 1, priceCents: 4000 },
    ]
    await expectOk(order(id, { amountCents: undefined, discountCents: 1000, lineItems }))
    const { body } = await refund(id, 'r-1', undefined, { lineItems: [{ variantId: '11', quantity: 1 }] })
    expect(body).toMatchObject({ refund: { amountCents: null, goodsCents: 2700 }, commission: { amountCents: 1008 } })
    expect(body.refund.lineItems).toEqual([{ variantId: '11', productId: null, quantity: 1 }])
  })

  test('200 with a warning when less was left, or when the order has no such line item', async () => {
    const id = nextId()
    await expectOk(order(id))
    const unknown = await refund(id, 'r-1', undefined, { lineItems: [{ variantId: 'gid://x/1', quantity: 1 }] })
    expect(unknown.body).toMatchObject({ warning: 'refund_item_unknown', refund: { goodsCents: 0 } })
    const { body } = await refund(id, 'r-2', 10_000)
    expect(body).toMatchObject({
      warning: 'refund_exceeds_order',
      refund: { amountCents: 10_000, goodsCents: 9000, commissionCents: -1440 },
      commission: { status: 'REFUNDED', amountCents: 0 },
    })
    expect((await refund(id, 'r-3', 1)).body).toMatchObject({ warning: 'refund_exceeds_order', changed: true })
  })

  test('200 of a paid commission: it stays PAID, and an adjustment takes the money back', async () => {
    const id = nextId()
    await expectOk(order(id))
    await payOctober()
    const { body } = await refund(id, 'r-1', 3000)
    expect(body.commission).toMatchObject({ status: 'PAID', amountCents: 1440 })
    expect(body.refund).toMatchObject({ commissionCents: -480, adjustmentId: expect.stringMatching(/^com_/) })
    const adjustment = (await till.rows()).find((row) => row.id === body.refund.adjustmentId)
    expect(adjustment).toMatchObject({ orderId: `adj:${body.commission.id}:r-1`, commissionAmountCents: -480 })
  })

  test('200 of a commission in an open batch: the total of the batch follows', async () => {
    const ids = [nextId(), nextId(), nextId()]
    for (const id of ids) await expectOk(order(id))
    const { id } = await expectOk(till.batch(OCTOBER))
    const refunds = ids.slice(0, 2).map((one) => refund(one, 'r-1', 3000))
    await Promise.all([...refunds, refund(nextId(), 'r-1', 3000), order(nextId()), cancel(ids[2]!)].map(expectOk))
    expect((await till.batchOf(id)).totals).toMatchObject({ commissions: 2, commissionCents: 1920 })
    await till.checkBatches()
  })

  test('409 in another currency than the order, and nothing is recorded', async () => {
    const id = nextId()
    await expectOk(order(id, { currency: 'EUR' }))
    const rejected = await refund(id, 'r-1', 3000, { currency: 'USD' })
    expect(codeOf(rejected)).toEqual([409, 'refund_currency_mismatch'])
    expect(rejected.body.error).toContain('EUR')
    expect((await refund(id, 'r-1', 3000, { currency: 'EUR' })).body).toMatchObject({ changed: true })
  })

  test('is in the currency of the order when the commission is in another', async () => {
    await till.affiliate('FLAT', { commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 })
    const id = nextId()
    await expectOk(order(id, { currency: 'JPY', couponCode: 'FLAT' }))
    expect((await refund(id, 'r-1', 9000, { currency: 'JPY' })).body).toMatchObject({
      refund: { goodsCents: 9000, commissionCents: -500 },
      commission: { status: 'REFUNDED', currency: 'USD' },
    })
  })

  test.for(['reversal', 'carry\u200b', '\u200b'])('400 for the refund id %j', async (refundId) => {
    expect(codeOf(await refund(nextId(), refundId, 1))).toEqual([400, 'invalid_body'])
  })
})

test('400 for an amount with line items', async () => {
  const reply = await refund(nextId(), 'r-1', 100, { lineItems: [{ variantId: '1', quantity: 1 }] })
  expect(codeOf(reply)).toEqual([400, 'invalid_body'])
})

test('400 with the name that a misspelled property of a line item has', async ({ server }) => {
  const refunded = { externalOrderId: nextId(), externalRefundId: 'r-1' }
  const body = { ...refunded, lineItems: [{ variantId: '1', quantity: 1, amount_cents: 1 }] }
  const reply = await server.request('POST', '/api/v1/refunds', { body })
  expect([...codeOf(reply), reply.body.error]).toEqual([
    400,
    'unknown_property',
    expect.stringMatching(/amount_cents .* amountCents\./),
  ])
})

describe('a refund before its order', () => {
  test('202, and it counts once the order is recorded; the 201 and the event show the original decision', async ({
    server,
  }) => {
    const shop = server.asShop(till.shop)
    subscribe({ ...server, ...shop })
    const events = outbox({ ...server, ...shop })
    const audits = auditLog({ ...server, ...shop })
    const id = nextId()
    const early = await refund(id, 'r-1', 3000)
    expect([early.status, early.body]).toEqual([
      202,
      {
        ok: true,
        message: expect.stringContaining('stored'),
        dryRun: false,
        outcome: 'stored',
        changed: true,
        externalOrderId: id,
        orderId: `api:${id}`,
        externalRefundId: 'r-1',
        refund: null,
        refundedCents: 3000,
        commission: null,
        warning: null,
      },
    ])
    expect((await refund(id, 'r-1', 5000)).body).toMatchObject({
      outcome: 'stored',
      changed: false,
      refundedCents: 3000,
    })
    expect(await expectOk(refund(id, 'r-2', 20_000))).toMatchObject({ refundedCents: 23_000 })
    const { body } = await order(id)
    expect(body.commission).toMatchObject({ amountCents: 1440, status: 'APPROVED' })
    expect(events().map(({ event, data }) => [event, data.commissionAmountCents])).toEqual([
      ['commission.created', 1440],
    ])
    expect(audits().map(({ action }) => action)).toEqual([
      'commission.created',
      'commission.refunded',
      'commission.refunded',
    ])
    expect(await rowOf(id)).toMatchObject({ commissionAmountCents: 0, orderStatus: 'REFUNDED' })
    const { refunds, notices, arithmetic } = await explain(id)
    expect(refunds.map((one: { goodsCents: number }) => one.goodsCents)).toEqual([3000, 6000])
    expect(notices).toMatchObject([
      { type: 'refund', externalRefundId: 'r-1', applied: true },
      { type: 'refund', externalRefundId: 'r-2', applied: true },
    ])
    expect(arithmetic.at(-1)).toMatchObject({ step: 'now', cents: 0 })
    expect((await refund(id, 'r-1', 3000)).body).toMatchObject({ outcome: 'applied', changed: false })
  })

  test('200 when the order was reported and nobody was credited; it counts when a later report is credited', async () => {
    const id = nextId()
    await expectOk(order(id, { couponCode: 'NOBODY', amountCents: 5000 }))
    const noted = await refund(id, 'r-1', 3000)
    expect([noted.status, noted.body]).toMatchObject([200, { outcome: 'noted', changed: true, commission: null }])
    expect((await explain(id)).notices).toMatchObject([{ externalRefundId: 'r-1', applied: false }])
    await expectOk(order(id))
    expect(await rowOf(id)).toMatchObject({ orderSubtotalCents: 9000, commissionAmountCents: 960 })
    await expectOk(order(id, { amountCents: 20_000 }))
    expect(await rowOf(id)).toMatchObject({ orderSubtotalCents: 9000, commissionAmountCents: 960 })
  })

  test('another amount or other line items with the same refund id are a warning', async () => {
    const id = nextId()
    await expectOk(refund(id, 'r-1', 9000))
    expect((await refund(id, 'r-1', 9000, { reason: 'Damaged' })).body.warning).toBeNull()
    const lineItems = [{ productId: '1', quantity: 1 }]
    for (const other of [await refund(id, 'r-1', 5000), await refund(id, 'r-1', undefined, { lineItems })])
      expect(other.body).toMatchObject({ changed: false, refundedCents: 9000, warning: 'refund_differs' })
  })

  test('an unknown line item is named by explanation and audit, before or after the order', async ({ server }) => {
    const audits = auditLog({ ...server, ...server.asShop(till.shop) })
    const lineItems = [{ id: 'li9', quantity: 1 }]
    const [before, after] = [nextId(), nextId()]
    await expectOk(refund(before, 'r-1', undefined, { lineItems }))
    for (const id of [before, after]) await expectOk(order(id))
    await expectOk(refund(after, 'r-1', undefined, { lineItems }))
    for (const id of [before, after]) {
      const { arithmetic } = await explain(id)
      const lines = arithmetic.filter(({ step }: { step: string }) => step === 'refund')
      expect(lines).toEqual([expect.objectContaining({ cents: 0, text: expect.stringContaining('line item') })])
    }
    const warnings = audits().flatMap(({ action, data }) => (action === 'commission.refunded' ? [data.warning] : []))
    expect(warnings).toEqual(['refund_item_unknown', 'refund_item_unknown'])
  })

  test('in another currency it is skipped, and the order is recorded', async ({ server }) => {
    const audits = auditLog({ ...server, ...server.asShop(till.shop) })
    const id = nextId()
    await expectOk(refund(id, 'r-1', 3000, { currency: 'EUR' }))
    await expectOk(order(id))
    expect(await rowOf(id)).toMatchObject({ commissionAmountCents: 1440 })
    expect(audits()).toMatchObject([
      { action: 'commission.created' },
      { action: 'refund.skipped', data: { externalRefundId: 'r-1', reason: 'currency_mismatch' } },
    ])
    expect((await explain(id)).notices).toMatchObject([{ externalRefundId: 'r-1', applied: false }])
  })

  test('of a rejected commission: it counts when the commission is reopened', async () => {
    const affiliate = await newAffiliate(till.server, { key: till.shop.key, code: 'LATER' })
    const setStatus = (status: string) =>
      expectOk(
        till.server.request('PATCH', `/api/v1/affiliates?id=${affiliate.id}`, { key: till.shop.key, body: { status } }),
      )
    await setStatus('PENDING')
    const id = nextId()
    await expectOk(refund(id, 'r-1', 3000))
    await expectOk(order(id, { couponCode: 'LATER' }))
    expect((await refund(id, 'r-2', 3000)).body).toMatchObject({
      outcome: 'applied',
      refund: { goodsCents: 3000, commissionCents: 0 },
      commission: { status: 'REJECTED' },
    })
    await setStatus('APPROVED')
    const reopened = await expectOk(till.act('reopen', (await rowOf(id)).id))
    expect(reopened).toMatchObject({ orderStatus: 'PENDING', commissionAmountCents: 480 })
  })

  test('409 for the 51st refund that is stored for one order', async () => {
    const id = nextId()
    await Promise.all(Array.from({ length: 50 }, (_, n) => expectOk(refund(id, `r-${n}`, 10))))
    expect(codeOf(await refund(id, 'r-50', 10))).toEqual([409, 'store_refund_limit_reached'])
    expect((await refund(id, 'r-7', 10)).status).toBe(202)
    await expectOk(order(id))
    expect(await rowOf(id)).toMatchObject({ commissionAmountCents: 1360 })
  })
})

describe('a dry run', () => {
  test.for([
    ['refund', (id: string, query?: string) => refund(id, 'r', 3000, {}, { query })],
    ['cancellation', (id: string, query?: string) => cancel(id, { query })],
  ] as const)('200 with the result of the %s, and nothing is recorded', async ([, report]) => {
    const [unknown, uncredited, unpaid, paid] = [nextId(), nextId(), nextId(), nextId()]
    await expectOk(order(uncredited, { couponCode: 'NOBODY' }))
    await expectOk(order(paid))
    await payOctober()
    await expectOk(order(unpaid, { occurredAt: '2026-10-21' }))
    for (const id of [unknown, uncredited, unpaid, paid]) {
      const dry = await report(id, '?dryRun=1')
      expect([dry.status, dry.body.dryRun]).toEqual([200, true])
      expect((await report(id, '?dryRun=1')).body).toEqual(dry.body)
      const { body } = await report(id)
      const withoutAdjustment = {
        ...body,
        adjustmentId: null,
        refund: body.refund && { ...body.refund, adjustmentId: null },
      }
      const { refund: _, ...rest } = withoutAdjustment
      const comparable = 'refund' in body ? { ...withoutAdjustment, adjustmentId: undefined } : rest
      expect(dry.body).toEqual({ ...comparable, dryRun: true, message: expect.stringContaining('Dry run') })
      expect((await report(id, '?dryRun=1')).body.changed).toBe(false)
    }
  })

  test('409 as for the refund itself', async () => {
    const id = nextId()
    await expectOk(order(id))
    expect(codeOf(await refund(id, 'r', 1, { currency: 'EUR' }, { query: '?dryRun=1' }))).toEqual([
      409,
      'refund_currency_mismatch',
    ])
  })
})

test('an Idempotency-Key replays the first response; a different body is rejected', async () => {
  const id = nextId()
  const headers = { 'Idempotency-Key': 'refund-1' }
  const first = await refund(id, 'r', 3000, {}, { headers })
  await expectOk(order(id))
  const again = await refund(id, 'r', 3000, {}, { headers })
  expect([again.status, again.headers.get('Idempotent-Replayed'), again.body]).toEqual([202, 'true', first.body])
  expect(codeOf(await refund(id, 'r', 1, {}, { headers }))).toEqual([409, 'idempotency_key_reused'])
})

test('only orders that were reported by API of the same shop are reached', async ({ server }) => {
  const id = nextId()
  await expectOk(order(id))
  const other = await server.createShop()
  const body = { externalOrderId: id, externalRefundId: 'r', amountCents: 9000 }
  expect((await server.request('POST', '/api/v1/refunds', { key: other.key, body })).status).toBe(202)
  expect(await rowOf(id)).toMatchObject({ commissionAmountCents: 1440 })
  expect((await refund(`api:${id}`, 'r', 9000)).status).toBe(202)
  expect((await refund(`shopify:${id}`, 'r', 9000)).status).toBe(202)
})

test('the journey shows the status and the refunded goods of an order', async () => {
  const id = nextId()
  await expectOk(order(id, { sessionId: id }))
  await expectOk(refund(id, 'r-1', 3000))
  await expectOk(cancel(id))
  const { journey } = await till.server.clientOf(till.shop.key).journey.get({ sessionId: id })
  expect(journey).toMatchObject([{ commissionStatus: 'CANCELED', orderCurrency: 'USD', refundedCents: 3000 }])
})
