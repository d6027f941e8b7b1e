import { expect } from 'vitest'
import { composed, document, operation, pointerTo, problems } from '../support/document.ts'
import { callOwner, ID, type OwnerServer } from '../support/owner.ts'
import { callSite, isOfSite, openSite } from '../support/site.ts'
import { test } from '../support/test.ts'
import { callOperation, snapshot } from './fixture.ts'

const send = (server: OwnerServer, id: string, body: unknown) => {
  const op = operation(id)
  if (op.path.startsWith('/admin/')) return callOwner(server, op, { body })
  if (isOfSite(op)) return callSite(server, op, { body })
  return callOperation(server, op, { body, headers: { 'Idempotency-Key': crypto.randomUUID() } })
}

/** The result of a validator generated from the document. */
const documentRefuses = (id: string, body: unknown) => {
  const { path, method } = operation(id)
  return (
    problems(
      pointerTo('paths', path, method.toLowerCase(), 'requestBody', 'content', 'application/json', 'schema'),
      body,
    ).length > 0
  )
}

const RATE = 'commissionPercent must be above 0 and at most'
const CODE = 'code must be 1 to 9 visible characters without spaces, 0, o or O.'
const rule = { programId: ID.program, kind: 'product', value: '1' }
const moderate = { action: 'approve' }
const refund = { externalRefundId: 'r' }

const told = new Set<string>()

test.beforeAll(async ({ ownerServer }) => {
  await openSite(ownerServer)
})

test.for<[operation: string, body: object, sentence: string, code?: string]>([
  ['createAffiliate', { email: 'n@example.com' }, 'name or firstName is required.'],
  ['createAffiliate', { email: 'n@example.com', name: ' ', firstName: null }, 'name or firstName is required.'],
  ['createAffiliate', { email: 'n@example.com', name: 7 }, 'name must be text of 1 to 200 characters or null.'],
  [
    'createAffiliate',
    { email: 'n@example.com', nick: 'N' },
    'nick is not a property of this request.',
    'unknown_property',
  ],
  ['updateAffiliate', { name: ' ' }, 'name must not be blank.'],
  ['createProgram', { name: ' ' }, 'name must not be blank.'],
  [
    'createProgram',
    { name: 'N', commissionPercent: 0.001 },
    `${RATE} 100 for a percentage.`,
    'commission_percent_invalid',
  ],
  [
    'createProgram',
    { name: 'N', commissionPercent: 100.005 },
    `${RATE} 100 for a percentage.`,
    'commission_percent_invalid',
  ],
  [
    'createProgram',
    { name: 'N', commissionType: 'FLAT_PER_ITEM', commissionPercent: 2147483648 },
    `${RATE} 2147483647 minor units for an amount.`,
    'commission_percent_invalid',
  ],
  [
    'createProgram',
    { name: 'N', commissionType: 'FLAT_PER_ORDER', commissionPercent: -1 },
    `${RATE} 2147483647 minor units for an amount.`,
    'commission_percent_invalid',
  ],
  ['createProgram', { name: 'N', commissionPercent: '16' }, 'commissionPercent must be a number.'],
  [
    'updateProgram',
    { commissionPercent: 0 },
    `${RATE} 100 for a percentage, or 2147483647 minor units for an amount.`,
    'commission_percent_invalid',
  ],
  [
    'updateProgram',
    { discountValue: -1 },
    'discountValue must be from 0 to 100 for a percentage, or to 2147483647 minor units for an amount.',
    'discount_value_invalid',
  ],
  [
    'createProductRule',
    { ...rule, commissionPercent: 101 },
    `${RATE} 100 for a percentage.`,
    'commission_percent_invalid',
  ],
  ['assignCoupon', { affiliateId: ID.affiliate, code: 'TOOLONGXYZ' }, CODE, 'discount_code_invalid'],
  ['assignCoupon', { affiliateId: ID.affiliate, code: 'A B' }, CODE, 'discount_code_invalid'],
  ['assignCoupon', { affiliateId: ID.affiliate, code: 'ZER0' }, CODE, 'discount_code_invalid'],
  ['assignCoupon', { affiliateId: ID.affiliate, code: '' }, CODE, 'discount_code_invalid'],
  ['assignCoupon', { affiliateId: ID.affiliate, code: 16 }, 'code must be text or null.'],
  [
    'createAlias',
    { affiliateId: ID.affiliate, kind: 'CODE', value: 'SARAH 10' },
    'value must be 1 to 100 visible characters without spaces.',
    'alias_invalid',
  ],
  ['createWebhook', {}, 'url is required.'],
  ['createWebhook', { url: null, hookUrl: ' ' }, 'url is required.'],
  ['createWebhook', { hookUrl: 7 }, 'hookUrl must be text of at most 2048 characters or null.'],
  ['recordEvent', { amountCents: 1 }, 'externalOrderId is required.'],
  ['recordEvent', { externalOrderId: ' ', amountCents: 1 }, 'externalOrderId is required.'],
  ['recordEvent', { externalOrderId: 'x' }, 'amountCents is required unless lineItems is given.'],
  ['recordEvent', { externalOrderId: 'x', lineItems: [] }, 'amountCents is required unless lineItems is given.'],
  [
    'recordEvent',
    { externalOrderId: 'x', lineItems: [{ priceCents: 1 }, {}] },
    'lineItems[1].priceCents is required when amountCents is not sent.',
  ],
  [
    'recordEvent',
    { externalOrderId: 'x', lineItems: [{ priceCents: null }] },
    'lineItems[0].priceCents is required when amountCents is not sent.',
  ],
  [
    'recordEvent',
    { externalOrderId: 'x', amountCents: '1' },
    'amountCents must be an integer from 0 to 2147483647 or null.',
  ],
  ['recordEvent', { type: 'click' }, 'A click needs one of ref, affiliateCode, affiliateId and clickId.'],
  ['recordSiteClick', {}, 'A click needs one of ref, affiliateCode and affiliateId.'],
  [
    'recordEvent',
    { type: 'click', ref: ' ', clickId: null },
    'A click needs one of ref, affiliateCode, affiliateId and clickId.',
  ],
  ['recordEvent', { type: 'click', ref: 7 }, 'ref must be text of at most 255 characters or null.'],
  ['recordEvent', { type: 'page_view' }, 'url is required.'],
  ['recordEvent', { type: 'page_view', url: ' ' }, 'url must not be blank.'],
  ['recordEvent', { type: 'sale', externalOrderId: 'x' }, 'type must be one of conversion, click, page_view.'],
  ['recordEvent', { type: 'refund', externalOrderId: 'x' }, 'type must be one of conversion, click, page_view.'],
  [
    'recordEvent',
    { type: 'order_canceled', externalOrderId: 'x' },
    'type must be one of conversion, click, page_view.',
  ],
  ['createCustomer', { couponCode: 'NISA16' }, 'customerId or customerEmail is required.'],
  ['reportRefund', { externalRefundId: 'r', amountCents: 1 }, 'externalOrderId is required.'],
  ['reportRefund', { externalOrderId: 'x', amountCents: 1 }, 'externalRefundId is required.'],
  [
    'reportRefund',
    { externalOrderId: 'x', externalRefundId: ' ', amountCents: 1 },
    'externalRefundId must not be blank.',
  ],
  ['reportRefund', { externalOrderId: 'x', externalRefundId: 'r' }, 'A refund needs amountCents or lineItems.'],
  [
    'reportRefund',
    { externalOrderId: 'x', externalRefundId: 'r', lineItems: [] },
    'A refund needs amountCents or lineItems.',
  ],
  [
    'reportRefund',
    { externalOrderId: 'x', externalRefundId: 'r', lineItems: [{ quantity: 1 }] },
    'Each line item needs an id, a variantId or a productId.',
  ],
  ['reportCancellation', {}, 'externalOrderId is required.'],
  ['createKey', { label: ' ', scopes: ['events:write'] }, 'label must not be blank.'],
  ['createConnection', { kind: 'customerId', value: ' ', affiliateId: ID.affiliate }, 'value must not be blank.'],
  [
    'setGeoRule',
    { countries: [], cities: null },
    'At least one of countries, states, cities and postalPrefixes must contain a place.',
  ],
  [
    'refundCommission',
    { ...refund, lineItems: [{ quantity: 1 }] },
    'Each line item needs an id, a variantId or a productId.',
  ],
  [
    'refundCommission',
    {
      ...refund,
      lineItems: [
        { variantId: '1', quantity: 1 },
        { variantId: null, quantity: 1 },
      ],
    },
    'Each line item needs an id, a variantId or a productId.',
  ],
  [
    'refundCommission',
    { ...refund, lineItems: [{ variantId: '1', quantity: 1, price: 1 }] },
    'lineItems[0].price is not a property of this request.',
    'unknown_property',
  ],
  ['moderateCommissions', moderate, 'Send either ids or filter, not both.'],
  ['moderateCommissions', { ...moderate, ids: [] }, 'ids must be a list of 1 to 500 items or null.'],
  ['runBacktest', { programId: ID.program }, 'Send at least one setting to backtest.'],
])(
  '400 by the document and by the server for %s with %j',
  async ([id, body, sentence, code = 'invalid_body'], { ownerServer: server }) => {
    expect(documentRefuses(id, body), 'the document accepts it').toBe(true)
    const before = snapshot(server)
    const reply = await send(server, id, body)
    expect([reply.status, reply.headers.get('X-Error-Code'), reply.body.error]).toEqual([400, code, sentence])
    expect(snapshot(server)).toBe(before)
    told.add(sentence)
  },
)

test.for<[operation: string, body: object]>([
  ['createAffiliate', { email: 'one@example.com', name: 'One', firstName: null }],
  ['createAffiliate', { email: 'two@example.com', firstName: 'Two', name: ' ' }],
  ['createProgram', { name: 'N', commissionPercent: 100 }],
  ['createProgram', { name: 'N', commissionType: 'FLAT_PER_ORDER', commissionPercent: 21474836.47 }],
  ['createProgram', { name: 'N', commissionType: 'FLAT_PER_ITEM' }],
  ['assignCoupon', { affiliateId: ID.affiliate, code: '🎁🎁🎁🎁🎁🎁🎁🎁🎁' }],
  ['createWebhook', { hookUrl: 'https://hooks.example.com/a' }],
  ['createWebhook', { target_url: 'https://hooks.example.com/b', url: null }],
  ['recordEvent', { externalOrderId: 'without-a-type', amountCents: 1 }],
  ['recordEvent', { type: 'conversion', orderId: 'by-alias', lineItems: [{ priceCents: 100, quantity: 2 }] }],
  ['recordEvent', { type: 'click', affiliateCode: 'NISA16' }],
  ['recordEvent', { type: 'click', clickId: 'mine', ref: null }],
  ['reportRefund', { externalOrderId: 'early', externalRefundId: 'r', amountCents: 0, lineItems: null }],
  ['reportCancellation', { externalOrderId: 'early-too' }],
])('accepted by the document and by the server: %s with %j', async ([id, body], { ownerServer: server }) => {
  expect(documentRefuses(id, body), 'the document refuses it').toBe(false)
  const { status, body: reply } = await send(server, id, body)
  expect(status, JSON.stringify(reply)).toBeLessThan(300)
})

test('every combination of required fields in the document is tested', () => {
  const messages = Object.values(document.components.schemas).flatMap((schema) =>
    composed(schema).choices.flatMap((choice) => choice['x-message'] ?? []),
  )
  expect(messages.length).toBeGreaterThan(8)
  expect(messages.filter((message) => !told.has(message))).toEqual([])
})
