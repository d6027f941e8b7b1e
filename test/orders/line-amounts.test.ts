import { expect } from 'vitest'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

const lineItems = [
  { id: 'a', variantId: '13', quantity: 1, priceCents: 10_000 },
  { id: 'b', variantId: '13', quantity: 2, priceCents: 5000, discountCents: 10_000 },
]

test.beforeAll(async ({ server }) => {
  await withAffiliate(server)
})

test.for([
  { name: 'the paid line', back: { id: 'a', quantity: 1 }, after: 0 },
  { name: 'the free line', back: { id: 'b', quantity: 2 }, after: 1600 },
  { name: 'a part of the paid line', back: { id: 'a', quantity: 1, amountCents: 2500 }, after: 1200 },
  { name: 'an amount of the free line', back: { id: 'b', quantity: 1, amountCents: 2500 }, after: 1600 },
])('a refund of lines with discounts of their own: $name', async ({ name, back, after }, { server }) => {
  const order = { externalOrderId: name, couponCode: 'NISA16', discountCents: 10_000, lineItems }
  const { commission } = await expectOk(convert(server, order))
  expect(commission.amountCents).toBe(1600)
  const refund = { externalOrderId: name, externalRefundId: 'r-1', lineItems: [back] }
  const reply = await expectOk(server.request('POST', '/api/v1/refunds', { body: refund }))
  expect(reply.commission.amountCents).toBe(after)
  expect(reply.refund.lineItems).toMatchObject([back])
})
