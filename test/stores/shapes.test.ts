import { expect } from 'vitest'
import { expectOk, newAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { type Store, storeOf } from './fixture.ts'
import { canceledPayload, orderPayload, refundPayload } from './payloads.ts'

let store: Store
test.beforeAll(async ({ server }) => {
  store = await storeOf(server)
})

const line = { product_id: 632910392, variant_id: 808950810, quantity: 1, price: '100.00' }
const codes = ['NISA16']
const changed = (text: string, changes: object) => JSON.stringify({ ...JSON.parse(text), ...changes })
const both = (shop: string, buyer: string) => ({
  shop_money: { amount: shop, currency_code: 'USD' },
  presentment_money: { amount: buyer, currency_code: 'JPY' },
})
const record = (text: string) => expectOk(store.notify('orders-paid', text))

test('a buyer who pays in another currency: the amounts in the shop currency count, even in the refund', async () => {
  const id = store.nextId()
  const order = JSON.parse(orderPayload({ id, lines: [{ ...line, quantity: 2 }], subtotal: '180.00', codes }))
  order.presentment_currency = 'JPY'
  order.subtotal_price_set = both('180.00', '27000')
  order.total_line_items_price_set = both('200.00', '30000')
  order.line_items[0].price_set = both('100.00', '15000')
  await record(JSON.stringify(order))
  expect(await store.commission(id)).toMatchObject({
    currency: 'USD',
    orderCurrency: 'USD',
    orderSubtotalCents: 20_000,
    orderDiscountCents: 2000,
    commissionAmountCents: 2880,
  })
  const refund = JSON.parse(refundPayload({ orderId: id, items: [{ ...line, subtotal: 90 }] }))
  refund.refund_line_items[0].subtotal_set = both('90.00', '13500')
  refund.transactions = [{ id: 1, kind: 'refund', amount: '13500', currency: 'JPY', status: 'success' }]
  await expectOk(store.notify('refunds-create', JSON.stringify(refund)))
  expect((await store.commission(id)).commissionAmountCents).toBe(1440)
})

test('accents in codes, names, addresses and links, composed or not', async () => {
  const affiliate = await newAffiliate(store.server, { name: 'Zoë Müller', code: 'ÉLAN' })
  for (const [given, reason] of [
    [{ codes: ['élan'.normalize('NFD')] }, 'COUPON_MATCH'],
    [{ codes: ['ÉLAN'.normalize('NFC')] }, 'COUPON_MATCH'],
    [{ landingSite: '/b%C3%BCcher?utm_campaign=fr%C3%BChling&ref=zoe-muller#caf%C3%A9' }, 'REF_MATCH'],
    [{ landingSite: '/bücher?utm_campaign=%ff&ref=zoe-muller' }, 'REF_MATCH'],
  ] as const) {
    const id = store.nextId()
    const text = changed(orderPayload({ id, ...given, codes: 'codes' in given ? [...given.codes] : [] }), {
      name: '№ 1001 – Größe “M” 🎩',
      email: 'zoë.käufer@bücher.example',
      shipping_address: { country_code: 'DE', province_code: null, city: 'Köln', zip: '50667' },
    })
    await record(text)
    expect(await store.commission(id)).toMatchObject({
      affiliateId: affiliate.id,
      attributionReasonCode: reason,
      orderName: '№ 1001 – Größe “M” 🎩',
    })
  }
})

test('an order from the till: no customer, no address, no landing page, goods without ids', async () => {
  const id = store.nextId()
  const custom = { product_id: null, variant_id: null, quantity: 3, price: '10.00' }
  const text = changed(orderPayload({ id, lines: [custom], codes, email: null, customerId: null, address: null }), {
    customer: null,
    billing_address: null,
    client_details: null,
    landing_site: null,
    note_attributes: [],
    source_name: 'pos',
    contact_email: '',
    email: '',
    total_shipping_price_set: null,
  })
  await record(text)
  expect(await store.commission(id)).toMatchObject({ commissionAmountCents: 480, orderShippingCents: 0 })
})

test('a free order is recorded, and earns nothing', async () => {
  const id = store.nextId()
  await record(orderPayload({ id, subtotal: '0.00', codes }))
  expect(await store.commission(id)).toMatchObject({ commissionAmountCents: 0, restrictionReasonCode: 'ZERO_BASE' })
})

test('half refunded, then canceled with the refund of the rest: nothing is earned, in any order', async () => {
  const lines = [{ ...line, quantity: 2 }]
  const half = (id: number, refundId: number) => () =>
    store.notify('refunds-create', refundPayload({ id: refundId, orderId: id, items: [{ ...line, subtotal: 100 }] }))
  const cancel = (id: number) => () => store.notify('orders-cancelled', canceledPayload({ id, lines }))
  const paid = (id: number) => () => store.notify('orders-paid', orderPayload({ id, lines, codes }))
  for (const order of ['pabc', 'pacb', 'pcab', 'apbc', 'acpb', 'cpab', 'abcp']) {
    const id = store.nextId()
    const steps = { p: paid(id), a: half(id, 1), b: half(id, 2), c: cancel(id) }
    for (const step of order) await expectOk(steps[step as keyof typeof steps]())
    const { orderStatus, commissionAmountCents } = await store.commission(id)
    expect([order, orderStatus, commissionAmountCents]).toEqual([order, 'REFUNDED', 0])
  }
})

test('items that were restocked to two places are two items of one line', async () => {
  const id = store.nextId()
  await record(orderPayload({ id, lines: [{ ...line, quantity: 5 }], codes }))
  const items = [
    { ...line, quantity: 2, subtotal: 200 },
    { ...line, quantity: 1, subtotal: 100 },
  ]
  await expectOk(store.notify('refunds-create', refundPayload({ orderId: id, items })))
  expect((await store.commission(id)).commissionAmountCents).toBe(3200)
})

test('the signature is over the raw bytes, including non-ASCII text and long ids', async () => {
  const rawId = '820982911946154508'
  const text = changed(orderPayload({ codes }), { note: 'für “Ada” ✓ 👩‍👩‍👧', id: 0 }).replace(
    '"id":0',
    `"id":${rawId}`,
  )
  await record(text.replaceAll('“', '\\u201c'))
  expect((await store.commission(rawId)).externalOrderId).toBe(rawId)
})
