import { describe, expect } from 'vitest'
import { rejectionOf } from '../support/rejection.ts'
import type { Reply } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { type Store, storeOf } from './fixture.ts'
import { orderPayload, refundPayload } from './payloads.ts'

let store: Store
test.beforeAll(async ({ server }) => {
  store = await storeOf(server)
})

const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))
/** A paid order of one piece for 100.00, changed. */
const paid = (changes: object, given = {}) =>
  JSON.stringify({ ...JSON.parse(orderPayload({ id: store.nextId(), ...given })), ...changes })
const record = (text: string): Promise<Reply> => store.notify('orders-paid', text)
const recorded = async (text: string) => {
  await expectOk(record(text))
  return store.commission(JSON.parse(text).id)
}

describe('evidence beyond its bound is ignored, and the order is recorded', () => {
  const ref = 'ref=nisa-karim'

  test('a landing_site of up to 8,192 characters is read', async () => {
    const site = (length: number) => `/?${ref}&${'a'.repeat(length)}`.slice(0, length)
    expect(await recorded(paid({ landing_site: site(8192) }))).toMatchObject({ attributionReasonCode: 'REF_MATCH' })
    const text = paid({ landing_site: site(8193), discount_codes: [{ code: 'NISA16' }] })
    expect(await recorded(text)).toMatchObject({ attributionReasonCode: 'COUPON_MATCH', commissionAmountCents: 1600 })
  })

  test('two million characters of parameters', async () => {
    const text = paid({ landing_site: `/?${ref}&${'a&'.repeat(1_000_000)}`, discount_codes: [{ code: 'NISA16' }] })
    expect(await recorded(text)).toMatchObject({ attributionReasonCode: 'COUPON_MATCH' })
  })

  test('the first 25 discount codes are looked up', async () => {
    const codes = (count: number) => [...many(count, (i) => ({ code: `OTHER${i}` })), { code: 'NISA16' }]
    expect(await recorded(paid({ discount_codes: codes(24) }))).toMatchObject({ commissionAmountCents: 1600 })
    const text = paid({ discount_codes: codes(39_000), landing_site: `/?${ref}` })
    expect(await recorded(text)).toMatchObject({ attributionReasonCode: 'REF_MATCH' })
  })

  test('the first 500 note attributes are read', async () => {
    const click = await expectOk(
      store.server.request('POST', '/api/v1/events', {
        body: { type: 'click', ref: 'nisa-karim', occurredAt: '2026-10-19T00:00:00Z' },
      }),
    )
    const notes = (count: number) => [
      ...many(count, (i) => ({ name: `note ${i}`, value: 'x' })),
      { name: 'referral_click_id', value: click.id },
    ]
    expect(await recorded(paid({ note_attributes: notes(499) }))).toMatchObject({
      attributionReasonCode: 'CLICK_MATCH',
    })
    expect(await recorded(paid({ note_attributes: notes(500) }))).toBeUndefined()
  })

  test.each([
    [
      'a click reference of three million characters',
      { note_attributes: [{ name: 'referral_click_id', value: '😀'.repeat(750_000) }] },
    ],
    ['an email address of a million characters', { email: `${'a'.repeat(1_000_000)}@example.com` }],
    ['a time of a million digits', { processed_at: '1'.repeat(1_000_000), created_at: null }],
    ['a name of a million characters', { name: '#'.repeat(1_000_000) }],
    [
      'ids of products of 10,000 characters',
      { line_items: [{ product_id: '1'.repeat(10_000), quantity: 1, price: '100.00' }] },
    ],
  ])('%s', async (_, changes) => {
    const text = paid({ ...changes, discount_codes: [{ code: 'NISA16' }] })
    expect(await recorded(text)).toMatchObject({ commissionAmountCents: 1600 })
  })
})

describe('400 for what the commission depends on', () => {
  const line = { product_id: 1, variant_id: 2, quantity: 1, price: '1.00' }

  test.each([
    ['1,001 lines', { line_items: many(1001, () => line) }, 'line_items'],
    ['20,000 lines', { line_items: many(20_000, () => line) }, 'line_items'],
    [
      '51 taxes of a line',
      { line_items: [{ ...line, tax_lines: many(51, () => ({ price: '0.01' })) }] },
      'line_items[0].tax_lines',
    ],
    ['an amount of 41 characters', { subtotal_price: `1.${'0'.repeat(39)}` }, 'subtotal_price'],
    ['an id of 256 characters', { id: 'x'.repeat(256) }, 'id'],
    ['a blank id', { id: ' ' }, 'id'],
    ['an invisible id', { id: '\u200b\u2060' }, 'id'],
    ['a list in place of text', { email: many(100, () => 'a@example.com') }, 'email'],
    ['a million pieces and one', { line_items: [{ ...line, quantity: 1_000_001 }] }, 'line_items'],
  ])('%s', async (_, changes, field) => {
    const reply = await record(paid(changes))
    expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body', field: field })
  })

  test('a refund of 2,001 line items or 101 adjustments', async () => {
    const refund = (changes: object) => JSON.stringify({ ...JSON.parse(refundPayload({ id: 1 })), ...changes })
    const items = await store.notify(
      'refunds-create',
      refund({ refund_line_items: many(2001, () => ({ quantity: 1 })) }),
    )
    expect(rejectionOf(items)).toEqual({ status: 400, code: 'invalid_body', field: 'refund_line_items' })
    const money = await store.notify('refunds-create', refund({ order_adjustments: many(101, () => ({ kind: 'x' })) }))
    expect(rejectionOf(money)).toEqual({ status: 400, code: 'invalid_body', field: 'order_adjustments' })
  })

  test('more than 150,000 values or 5,000 names, used or not', async () => {
    const rejected = { status: 400, code: 'invalid_body' }
    expect((await record(paid({ details: many(149_000, () => 1) }))).status).toBe(200)
    expect(rejectionOf(await record(paid({ details: many(150_000, () => 1) })))).toEqual(rejected)
    const names = Object.fromEntries(many(5000, (i) => [`p${i}`, i]))
    expect(rejectionOf(await record(paid({ details: names })))).toEqual(rejected)
  })
})

describe('refunds stored before the commission of their order', () => {
  const items = many(1000, (i) => ({ product_id: i + 1, variant_id: null, quantity: 1, price: '10.00' }))
  const refund = (orderId: number, id: number, count: number) =>
    store.notify(
      'refunds-create',
      refundPayload({ id, orderId, items: many(count, (i) => ({ ...items[i]!, subtotal: 10 })) }),
    )
  const statusAndCode = async (pending: Promise<Reply>) => {
    const { status, headers } = await pending
    return [status, headers.get('X-Error-Code')]
  }

  test('409 after 50 of one order; the stored ones count once, and so does the next one', async () => {
    const id = store.nextId()
    for (let n = 1; n <= 50; n++) expect(await statusAndCode(refund(id, n, 1))).toEqual([200, null])
    expect(await statusAndCode(refund(id, 51, 1))).toEqual([409, 'store_refund_limit_reached'])
    expect(await statusAndCode(refund(id, 50, 1))).toEqual([200, null])
    expect(await statusAndCode(refund(store.nextId(), 51, 1))).toEqual([200, null])
    const lines = items.map((line, i) => ({ ...line, quantity: i === 0 ? 100 : 1 }))
    await expectOk(record(orderPayload({ id, lines, codes: ['NISA16'] })))
    expect((await store.commission(id)).commissionAmountCents).toBe((1099 - 50) * 160)
    expect(await statusAndCode(refund(id, 51, 1))).toEqual([200, null])
    expect((await store.commission(id)).commissionAmountCents).toBe((1099 - 51) * 160)
  })

  test('409 when they contain more than half a million characters', async () => {
    const id = store.nextId()
    let kept = 0
    while ((await refund(id, kept + 1, 1000)).status === 200) kept++
    expect(kept).toBeGreaterThan(3)
    expect(kept).toBeLessThan(15)
    const lines = items.map((line) => ({ ...line, quantity: 20 }))
    await expectOk(record(orderPayload({ id, lines, codes: ['NISA16'] })))
    expect((await store.commission(id)).commissionAmountCents).toBe((20 - kept) * 160_000)
  })
})

describe('a body that is not JSON is rejected in used properties', () => {
  test.each([
    ['cut off', (text: string) => text.slice(0, -1)],
    ['twice', (text: string) => text + text],
    ['with a comma at the end', (text: string) => `${text.slice(0, -1)},}`],
    ['with a leading comma', (text: string) => `{,${text.slice(1)}`],
    ['without a colon', (text: string) => text.replace('"currency":', '"currency"')],
    ['without a value', (text: string) => text.replace('"USD"', '')],
    [
      'without a value that nobody reads',
      (text: string) => text.replace('"customer_locale":"en"', '"customer_locale":'),
    ],
    ['in single quotes', (text: string) => text.replaceAll('"', "'")],
    ['with open text', (text: string) => text.replace('"USD"', '"USD')],
    ['with a wrong word', (text: string) => text.replace('"taxes_included":false', '"taxes_included":nope')],
    ['with a list closed as an object', (text: string) => text.replace('"discount_codes":[]', '"discount_codes":[}')],
  ])('%s', async (_, change) => {
    const { status, headers } = await record(change(paid({})))
    expect([status, headers.get('X-Error-Code')]).toEqual([400, 'invalid_json'])
  })
})

describe('unused properties do not prevent recording an order', () => {
  const codes = { codes: ['NISA16'] }
  test.each([
    ['text that a database cannot keep', { note: 'a\0b', browser_ip: '\ud800' }],
    ['600 properties', { details: Object.fromEntries(many(600, (i) => [`p${i}`, i])) }],
    ['100,000 values', { details: many(100_000, (i) => i) }],
    ['40 levels', { details: JSON.parse('['.repeat(40) + ']'.repeat(40)) }],
    ['two million escapes', { note: '\\"'.repeat(500_000) }],
    ['properties with names that are read elsewhere', { details: { id: 7, line_items: [], currency: 'JPY' } }],
  ])('%s', async (_, changes) => {
    expect(await recorded(paid(changes, codes))).toMatchObject({ commissionAmountCents: 1600, currency: 'USD' })
  })

  test('text with U+0000 is still rejected in used properties', async () => {
    const reply = await record(paid({ email: 'a\0b' }))
    expect(rejectionOf(reply)).toEqual({ status: 400, code: 'invalid_body' })
  })
})

describe('payloads of the size that stores send', () => {
  const line = (i: number) => ({
    product_id: 7_000_000_000_000 + i,
    variant_id: 41_000_000_000_000 + i,
    quantity: 1,
    price: '10.00',
    tax: '1.90',
  })

  test('an order of 1,000 lines, and the refund of all of them with three taxes each', async () => {
    const id = store.nextId()
    const lines = many(1000, line)
    await expectOk(record(orderPayload({ id, lines, codes: ['NISA16'] })))
    expect((await store.commission(id)).commissionAmountCents).toBe(160_000)
    const refund = JSON.parse(refundPayload({ orderId: id, items: lines.map((one) => ({ ...one, subtotal: 10 })) }))
    for (const item of refund.refund_line_items)
      item.line_item.tax_lines.push(...many(2, () => item.line_item.tax_lines[0]))
    const text = JSON.stringify(refund)
    expect(text.length).toBeGreaterThan(1_800_000)
    await expectOk(store.notify('refunds-create', text))
    expect(await store.commission(id)).toMatchObject({ commissionAmountCents: 0, orderStatus: 'REFUNDED' })
  })

  test('the cancellation of an order of 500 lines, which repeats them in its fulfillment and its refund', async () => {
    const id = store.nextId()
    const lines = many(500, line)
    await expectOk(record(orderPayload({ id, lines, codes: ['NISA16'] })))
    const order = JSON.parse(orderPayload({ id, lines }))
    const refund = JSON.parse(refundPayload({ orderId: id, items: lines.map((one) => ({ ...one, subtotal: 10 })) }))
    const text = JSON.stringify({
      ...order,
      cancelled_at: '2026-10-22T00:00:00-05:00',
      cancel_reason: 'customer',
      financial_status: 'refunded',
      fulfillments: [{ id: 1, order_id: id, status: 'cancelled', line_items: order.line_items }],
      refunds: [refund],
    })
    await expectOk(store.notify('orders-cancelled', text))
    expect((await store.commission(id)).orderStatus).toBe('CANCELED')
  })

  test('an order with a byte order mark and whitespace is read the same', async () => {
    const text = orderPayload({ id: store.nextId(), codes: ['NISA16'] })
    expect(await recorded(text)).toMatchObject({ commissionAmountCents: 1600 })
    const id = store.nextId()
    const spaced = JSON.stringify(JSON.parse(orderPayload({ id, codes: ['NISA16'] })), null, '\t')
    await expectOk(record(`\ufeff\r\n ${spaced} \n`))
    expect((await store.commission(id)).commissionAmountCents).toBe(1600)
  })
})
