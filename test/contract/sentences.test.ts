import { expect } from 'vitest'
import { type Store, storeOf } from '../stores/fixture.ts'
import { orderPayload } from '../stores/payloads.ts'
import { convert } from '../support/shop.ts'
import { test } from '../support/test.ts'

// One sentence of each rule that the validator checks. Other tests assert status, code and field. `required.test.ts` has
// the rules that a schema composes, and `errors.test.ts` the sentence of every documented error.

const order = { externalOrderId: 'x', amountCents: 1 }
const ISO = 'must be an ISO 8601 date (2026-10-31) or a timestamp with an offset (2026-10-31T23:59:59.999Z).'
const CENTS = 'must be an integer from 0 to 2147483647.'
let store: Promise<Store> | undefined
const changed = (changes: object) =>
  JSON.stringify({ ...JSON.parse(orderPayload({ id: 7001, currency: 'KWD' })), ...changes })
const TEXT = 'Text must not contain the character U+0000 or a lone surrogate.'

test.for<[property: object, sentence: string]>([
  [{ amountCents: -1 }, 'amountCents must be an integer from 0 to 2147483647 or null.'],
  [{ couponCode: 16 }, 'couponCode must be text of at most 255 characters or null.'],
  [{ currency: 'usd' }, 'currency must be an ISO 4217 currency, like USD.'],
  [{ shipping: 'US' }, 'shipping must be an object or null.'],
  [{ noteAttributes: {} }, 'noteAttributes must be a list of at most 200 items or null.'],
  [{ lineItems: [null] }, 'lineItems[0] must be an object.'],
  [{ lineItems: [{ quantity: 0 }] }, 'lineItems[0].quantity must be an integer from 1 to 1000000 or null.'],
  [{ lineItems: [{ quantity: 1_000_000 }, {}] }, 'lineItems must not contain more than 1000000 items in total.'],
  [
    { amountCents: null, lineItems: [{ priceCents: 2147483647 }, { priceCents: 1 }] },
    'lineItems must not add up to more than 2147483647 cents.',
  ],
  [{ occurredAt: 'yesterday' }, `occurredAt ${ISO}`],
  [{ note: 'a\0b' }, TEXT],
  [{ type: 'click' }, 'A click needs one of ref, affiliateCode, affiliateId and clickId.'],
])('an order with %j: %s', async ([property, sentence], { server }) => {
  const reply = await convert(server, { ...order, ...property })
  expect([reply.status, reply.body.error]).toEqual([400, sentence])
})

test.for<[property: object, sentence: string]>([
  [{ email: 'nobody' }, 'email must be an email address.'],
  [{ status: 'approved' }, 'status must be one of PENDING, ACTIVE, APPROVED, REJECTED.'],
  [{ name: '' }, 'name must be text of 1 to 200 characters.'],
  [{ name: ' \n ' }, 'name must not be blank.'],
  [{ phone: 7 }, 'phone must be text of at most 50 characters or null.'],
  [{ slug: 'x' }, 'slug is not a property of this request.'],
])('an affiliate with %j: %s', async ([body, sentence], { server }) => {
  const reply = await server.request('PATCH', '/api/v1/affiliates?id=aff_x', { body })
  expect([reply.status, reply.body.error]).toEqual([400, sentence])
})

test.for<[property: object, sentence: string]>([
  [{ commissionPercent: null }, 'commissionPercent must be a number.'],
  [{ autoApproveOrder: 1 }, 'autoApproveOrder must be true or false.'],
  [{ cookieDurationDays: 1.5 }, 'cookieDurationDays must be an integer from 0 to 3650.'],
])('a program with %j: %s', async ([property, sentence], { server }) => {
  const reply = await server.request('POST', '/api/v1/programs', { body: { name: 'N', ...property } })
  expect([reply.status, reply.body.error]).toEqual([400, sentence])
})

test.for<[property: object, sentence: string]>([
  [{ minimumPayoutCentsByCurrency: { EUR: -1 } }, `minimumPayoutCentsByCurrency.EUR ${CENTS}`],
  [{ minimumAffiliatePayoutCentsByCurrency: { EUR: '5' } }, `minimumAffiliatePayoutCentsByCurrency.EUR ${CENTS}`],
  [
    { attributionPrecedence: [1, 2, 3, 4] },
    'attributionPrecedence[0] must be one of COUPON, DIRECT_LINK, CONNECTED_CUSTOMER, CONNECTED_PRODUCT.',
  ],
])('settings with %j: %s', async ([body, sentence], { owner }) => {
  const reply = await owner('PATCH', '/settings', body)
  expect([reply.status, reply.body.error]).toEqual([400, sentence])
})

test.for<[query: string, sentence: string]>([
  ['affiliates?limit=ten', 'limit must be an integer from 1 to 100.'],
  ['affiliates?page=0', 'page must be an integer from 1 to 2147483647.'],
  ['affiliates?page=1&page=2', 'page must be sent only once.'],
  ['affiliates?q=%00', 'q must not contain the character U+0000.'],
  [`affiliates?q=${'x'.repeat(201)}`, 'q must be text of at most 200 characters.'],
  ['affiliates?page=2&after=x', 'Send after or page, not both.'],
  ['affiliates?after=aff_x', 'after must be the id of an item of this list.'],
  ['commissions?from=', `from ${ISO}`],
  ['payouts?limit=0', 'limit must be an integer from 1 to 100.'],
  ['journey', 'Send at least one of sessionId, affiliateId and customerEmail.'],
])('GET %s: %s', async ([query, sentence], { server }) => {
  const reply = await server.request('GET', `/api/v1/${query}`)
  expect([reply.status, reply.body.error]).toEqual([400, sentence])
})

test.for<[what: string, raw: string | Uint8Array, sentence: string]>([
  ['cut off', '{"email":', 'The request body is not valid JSON.'],
  ['not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), 'The request body is not valid JSON.'],
  ['a list', '[]', 'The request body must be an object.'],
  ['33 levels', '['.repeat(33) + ']'.repeat(33), 'The request body must not be nested more than 32 levels deep.'],
  ['65,001 values', `[${'1,'.repeat(65_000)}1]`, 'The request body must not contain more than 65000 values.'],
  [
    '5,001 names',
    JSON.stringify(Object.fromEntries(Array.from({ length: 5001 }, (_, i) => [`p${i}`, 1]))),
    'The request body must not contain more than 5000 different property names.',
  ],
  ['2 MB', JSON.stringify({ note: 'x'.repeat(2_000_000) }), 'The request body is larger than 1 MiB.'],
])('a body that is %s: %s', async ([_what, raw, sentence], { server }) => {
  const reply = await server.request('POST', '/api/v1/affiliates', { raw })
  expect([reply.status, reply.body.error]).toEqual([400, sentence])
})

test.for<[what: string, sentence: string, text: string]>([
  ['a blank id', 'id must be an integer or text of 1 to 255 characters.', changed({ id: ' ' })],
  [
    'no price',
    'subtotal_price must be an amount in currency units, like "10.00".',
    changed({ subtotal_price: `1.${'0'.repeat(39)}` }),
  ],
  ['a list as email address', 'email must be text or null.', changed({ email: [] })],
  [
    'another financial status',
    'financial_status must be one of paid, partially_refunded, refunded.',
    changed({ financial_status: 'pending' }),
  ],
  ['a huge tax', 'Amounts must be at most 9007199254740991 minor units.', changed({ total_tax: '9007199254740.992' })],
])('a store order with %s: %s', async ([_what, sentence, text], { server }) => {
  store ??= storeOf(server)
  const reply = await (await store).notify('orders-paid', text)
  expect([reply.status, reply.body.error]).toEqual([400, sentence])
})
