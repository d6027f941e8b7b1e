import { describe, expect } from 'vitest'
import { expectOk, newAffiliate, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { ok, type Store, storeOf } from './fixture.ts'
import { orderPayload, refundPayload } from './payloads.ts'

let store: Store
test.beforeAll(async ({ server }) => {
  store = await storeOf(server)
})

describe('refunds-create', () => {
  const line = { product_id: 632910392, variant_id: 808950810, quantity: 1, price: '50.00' }
  const order = { lines: [{ ...line, quantity: 2 }], subtotal: '90.00', codes: ['NISA16'] }

  test('deducts returned pieces at the price they were sold for, once', async () => {
    const id = store.nextId()
    await ok(store.notify('orders-paid', orderPayload({ id, ...order })))
    const text = refundPayload({ orderId: id, items: [{ ...line, subtotal: 45 }] })
    await ok(store.notify('refunds-create', text))
    await ok(store.notify('refunds-create', text))
    expect(await store.commission(id)).toMatchObject({ commissionAmountCents: 720, orderStatus: 'APPROVED' })
    await ok(store.notify('refunds-create', refundPayload({ id: 2, orderId: id, items: [{ ...line, subtotal: 45 }] })))
    expect(await store.commission(id)).toMatchObject({ commissionAmountCents: 0, orderStatus: 'REFUNDED' })
  })

  test.for(['after', 'before'])('took place when the store says, reported %s the order', async (when, { owner }) => {
    const id = store.nextId()
    const paid = () => ok(store.notify('orders-paid', orderPayload({ id, ...order })))
    if (when === 'after') await paid()
    await ok(store.notify('refunds-create', refundPayload({ orderId: id, items: [{ ...line, subtotal: 45 }] })))
    if (when === 'before') await paid()
    const { refunds, notices } = await expectOk(owner('GET', `/orders/${id}/explanation`))
    expect(refunds).toMatchObject([{ occurredAt: '2026-10-22T05:00:00.000Z' }])
    expect(notices.map(({ occurredAt }: { occurredAt: string }) => occurredAt)).toEqual(
      when === 'before' ? ['2026-10-22T05:00:00.000Z'] : [],
    )
  })

  test('deducts amounts without pieces, and ignores shipping', async () => {
    const id = store.nextId()
    await ok(store.notify('orders-paid', orderPayload({ id, ...order })))
    await ok(store.notify('refunds-create', refundPayload({ orderId: id, shipping: '-5.00' })))
    expect((await store.commission(id)).commissionAmountCents).toBe(1440)
    await ok(store.notify('refunds-create', refundPayload({ id: 2, orderId: id, discrepancy: '-30.00' })))
    expect((await store.commission(id)).commissionAmountCents).toBe(960)
    await ok(store.notify('refunds-create', refundPayload({ id: 3, orderId: id, discrepancy: '-500.00' })))
    expect(await store.commission(id)).toMatchObject({ commissionAmountCents: 0, orderStatus: 'REFUNDED' })
  })

  test('a refund of less than the price of its pieces', async () => {
    const id = store.nextId()
    await ok(store.notify('orders-paid', orderPayload({ id, ...order })))
    await ok(
      store.notify(
        'refunds-create',
        refundPayload({ orderId: id, items: [{ ...line, subtotal: 45 }], discrepancy: '15.00' }),
      ),
    )
    expect((await store.commission(id)).commissionAmountCents).toBe(960)
  })

  test('adds up decimal amounts exactly', async ({ owner }) => {
    const id = store.nextId()
    const priced = { ...line, quantity: 1, price: '100.000' }
    await ok(store.notify('orders-paid', orderPayload({ id, lines: [priced], currency: 'KWD', codes: ['NISA16'] })))
    const items = [{ quantity: 1, subtotal: '9007199254741.002', line_item: { product_id: null } }]
    const order_adjustments = [{ kind: 'refund_discrepancy', amount: '9007199254740.993' }]
    const refund = { id: 1, order_id: id, refund_line_items: items, order_adjustments }
    await ok(store.notify('refunds-create', JSON.stringify(refund)))
    const { refunds } = await expectOk(owner('GET', `/orders/${id}/explanation`))
    expect(refunds[0].goodsCents).toBe(9)
  })

  test('before its order is paid, and without attribution: it counts as soon as the order is attributed', async () => {
    const id = store.nextId()
    await ok(store.notify('refunds-create', refundPayload({ orderId: id, items: [{ ...line, subtotal: 45 }] })))
    await ok(store.notify('orders-paid', orderPayload({ id, lines: order.lines, subtotal: '90.00' })))
    expect(await store.commission(id)).toBeUndefined()
    await ok(store.notify('orders-paid', orderPayload({ id, ...order })))
    expect(await store.commission(id)).toMatchObject({ commissionAmountCents: 720, orderStatus: 'APPROVED' })
  })

  test('of a rejected commission: it counts when the commission is reopened', async ({ owner }) => {
    const id = store.nextId()
    await ok(store.notify('orders-paid', orderPayload({ id, ...order })))
    const row = await store.commission(id)
    await expectOk(owner('POST', `/commissions/${row.id}/reject`))
    await ok(store.notify('refunds-create', refundPayload({ orderId: id, items: [{ ...line, subtotal: 45 }] })))
    const reopened = await expectOk(owner('POST', `/commissions/${row.id}/reopen`))
    expect(reopened).toMatchObject({ orderStatus: 'PENDING', commissionAmountCents: 720 })
  })

  test('of an order that is reopened at several rates: each refund counts at the rate of its pieces', async ({
    server,
    owner,
  }) => {
    const { program, affiliate } = await withAffiliate(server, { code: 'RATES1' })
    const rule = { programId: program.id, kind: 'variant', value: '51', commissionPercent: 50 }
    await expectOk(owner('POST', '/product-rules', rule))
    const setStatus = (status: string) =>
      expectOk(server.request('PATCH', `/api/v1/affiliates?id=${affiliate.id}`, { body: { status } }))
    await setStatus('PENDING')
    const id = store.nextId()
    const [plain, better] = [50, 51].map((variant_id) => ({ product_id: 5, variant_id, quantity: 2, price: '50.00' }))
    await ok(store.notify('orders-paid', orderPayload({ id, lines: [plain!, better!], codes: ['RATES1'] })))
    const refundOne = (refundId: number, line: typeof plain) =>
      ok(
        store.notify(
          'refunds-create',
          refundPayload({ id: refundId, orderId: id, items: [{ ...line!, quantity: 1, subtotal: 50 }] }),
        ),
      )
    await refundOne(1, plain)
    await setStatus('APPROVED')
    const row = await store.commission(id)
    const reopened = await expectOk(owner('POST', `/commissions/${row.id}/reopen`))
    expect(reopened.commissionAmountCents).toBe(800 + 5000)
    await refundOne(2, better)
    expect((await store.commission(id)).commissionAmountCents).toBe(800 + 2500)
    await refundOne(3, plain)
    expect((await store.commission(id)).commissionAmountCents).toBe(2500)
  })

  test("is in the order's currency, even where a flat rate is in the shop's currency", async ({ server }) => {
    const flat = { name: 'Flat', autoApproveOrder: true, commissionType: 'FLAT_PER_ORDER', commissionPercent: 5 }
    const { id: campaignId } = await expectOk(server.request('POST', '/api/v1/programs', { body: flat }))
    await newAffiliate(server, { campaignId, code: 'YENS' })
    const early = store.nextId()
    const partOf = (orderId: number) => refundPayload({ id: 1, orderId, discrepancy: '-100' })
    await ok(store.notify('refunds-create', partOf(early)))
    for (const id of [early, store.nextId()]) {
      const lines = [{ product_id: 1, variant_id: 2, quantity: 1, price: '10000' }]
      await ok(
        store.notify('orders-paid', orderPayload({ id, lines, subtotal: '10000', currency: 'JPY', codes: ['YENS'] })),
      )
      await ok(store.notify('refunds-create', partOf(id)))
      expect(await store.commission(id)).toMatchObject({
        currency: 'USD',
        orderCurrency: 'JPY',
        commissionAmountCents: 500,
        orderStatus: 'APPROVED',
      })
      await ok(store.notify('refunds-create', refundPayload({ id: 2, orderId: id, discrepancy: '-9900' })))
      expect(await store.commission(id)).toMatchObject({ commissionAmountCents: 0, orderStatus: 'REFUNDED' })
    }
  })

  test('custom goods without ids are refunded by their amount', async () => {
    const id = store.nextId()
    const custom = { product_id: null, variant_id: null, quantity: 1, price: '40.00' }
    await ok(store.notify('orders-paid', orderPayload({ id, lines: [line, custom], codes: ['NISA16'] })))
    await ok(store.notify('refunds-create', refundPayload({ orderId: id, items: [{ ...custom, subtotal: 40 }] })))
    expect((await store.commission(id)).commissionAmountCents).toBe(800)
  })
})

describe("the store's own amounts of lines", () => {
  const hat = { product_id: 11, variant_id: 12, quantity: 1, price: '50.00', discounts: [] }
  const half = { ...hat, product_id: 21, variant_id: 22, discounts: ['25.00'] }
  const paid = { ...hat, price: '100.00' }
  const free = { ...paid, discounts: ['60.00', '40.00'] }
  const cheap = { product_id: 31, variant_id: 13, quantity: 1, price: '10.00', discounts: [] }
  const dear = { ...cheap, price: '100.00' }
  const taxed = { ...hat, price: '119.00', tax: '19.00' }
  const custom = { ...taxed, product_id: null, variant_id: null }
  const halfTaxed = { ...half, price: '119.00', tax: '9.50', discounts: ['59.50'] }
  const yen = { ...hat, price: '5000' }
  const freeYen = { ...yen, discounts: ['5000'] }
  const dinar = { ...hat, price: '50.125', quantity: 2 }
  const halfDinar = { ...dinar, discounts: ['50.125'] }

  test.for([
    {
      name: 'a full price and a half price: the full one',
      lines: [hat, half],
      subtotal: '75.00',
      before: 1200,
      back: { ...hat, at: 0, subtotal: 50 },
      after: 400,
    },
    {
      name: 'a full price and a half price: the half one',
      lines: [hat, half],
      subtotal: '75.00',
      before: 1200,
      back: { ...half, at: 1, subtotal: 25 },
      after: 800,
    },
    {
      name: 'buy one, get one: the paid one',
      lines: [paid, free],
      subtotal: '100.00',
      before: 1600,
      back: { ...paid, at: 0, subtotal: 100 },
      after: 0,
    },
    {
      name: 'buy one, get one: the free one',
      lines: [paid, free],
      subtotal: '100.00',
      before: 1600,
      back: { ...free, at: 1, subtotal: 0 },
      after: 1600,
    },
    {
      name: 'one variant on two lines: the second',
      lines: [cheap, dear],
      subtotal: '110.00',
      before: 1760,
      back: { ...dear, at: 1, subtotal: 100 },
      after: 160,
    },
    {
      name: 'one variant on two lines, by the variant: at its amount',
      lines: [cheap, dear],
      subtotal: '110.00',
      before: 1760,
      back: { ...dear, subtotal: 100 },
      after: 160,
    },
    {
      name: 'more than the line was paid with',
      lines: [hat, half],
      subtotal: '75.00',
      before: 1200,
      back: { ...half, at: 1, subtotal: 50 },
      after: 800,
    },
    {
      name: 'prices with tax: a custom item',
      lines: [taxed, custom],
      subtotal: '238.00',
      taxesIncluded: true,
      before: 3200,
      back: { ...custom, at: 1, subtotal: 119 },
      after: 1600,
    },
    {
      name: 'prices with tax: a discounted line',
      lines: [taxed, halfTaxed],
      subtotal: '178.50',
      taxesIncluded: true,
      before: 2400,
      back: { ...halfTaxed, at: 1, subtotal: 59.5 },
      after: 1600,
    },
    {
      name: 'a currency without decimals',
      lines: [yen, freeYen],
      subtotal: '5000',
      currency: 'JPY',
      before: 800,
      back: { ...freeYen, at: 1, subtotal: 0 },
      after: 800,
    },
    {
      name: 'a currency with three decimals',
      lines: [dinar, halfDinar],
      subtotal: '150.375',
      currency: 'KWD',
      before: 24060,
      back: { ...halfDinar, quantity: 1, at: 1, subtotal: 25.063 },
      after: 20050,
    },
  ])('$name', async ({ name: _, before, back, after, ...given }) => {
    const id = store.nextId()
    await ok(store.notify('orders-paid', orderPayload({ id, codes: ['NISA16'], ...given })))
    expect((await store.commission(id)).commissionAmountCents).toBe(before)
    await ok(store.notify('refunds-create', refundPayload({ orderId: id, items: [back] })))
    expect((await store.commission(id)).commissionAmountCents).toBe(after)
  })

  test('a rule of a product pays on what its line was paid with', async ({ server, owner }) => {
    const { program } = await withAffiliate(server, { code: 'LINES1' })
    const rule = { programId: program.id, kind: 'variant', value: '22', commissionPercent: 20 }
    await expectOk(owner('POST', '/product-rules', rule))
    const id = store.nextId()
    await ok(
      store.notify('orders-paid', orderPayload({ id, lines: [hat, half], subtotal: '75.00', codes: ['LINES1'] })),
    )
    expect((await store.commission(id)).commissionAmountCents).toBe(800 + 500)
  })
})
