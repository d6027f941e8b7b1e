import { describe, expect } from 'vitest'
import { snapshot } from '../contract/fixture.ts'
import { rejectionOf } from '../support/rejection.ts'
import type { Reply } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { test } from '../support/test.ts'
import { type Store, storeOf, type Topic } from './fixture.ts'
import { canceledPayload, orderPayload, refundPayload } from './payloads.ts'

let store: Store
test.beforeAll(async ({ server }) => {
  store = await storeOf(server)
})

const line = { product_id: 632910392, variant_id: 808950810, quantity: 1, price: '100.00' }
const codes = ['NISA16']

/** A rejection leaves no trace. */
async function rejected(pending: () => Promise<Reply>) {
  const before = snapshot(store.server)
  const reply = await pending()
  const { status, code, field } = rejectionOf(reply)
  expect(status, JSON.stringify(reply.body)).toBe(400)
  expect(snapshot(store.server)).toBe(before)
  return [code, field]
}

describe('the topic header', () => {
  const bodies: Record<Topic, () => string> = {
    'orders-paid': () => orderPayload({ id: store.nextId(), codes }),
    'orders-cancelled': () => canceledPayload({ id: store.nextId() }),
    'refunds-create': () => refundPayload({ orderId: store.nextId() }),
  }
  const topics = [
    'orders/paid',
    'orders/cancelled',
    'refunds/create',
    'orders/updated',
    'orders-paid',
    'ORDERS/PAID',
    '',
  ]

  for (const [endpoint, bodyOf] of Object.entries(bodies) as [Topic, () => string][]) {
    const own = endpoint.replace('-', '/')
    test.each(topics.filter((topic) => topic !== own))(`400 at ${endpoint} with "%s"`, async (topic) => {
      const send = () => store.notify(endpoint, bodyOf(), { 'X-Shopify-Topic': topic })
      expect(await rejected(send)).toEqual(['invalid_parameter', 'X-Shopify-Topic'])
    })
  }

  test('400 without one', async () => {
    const text = orderPayload({ id: store.nextId() })
    const send = () => {
      const { 'X-Shopify-Topic': _, ...headers } = store.headersOf('orders-paid', text)
      return store.server.request('POST', store.pathOf('orders-paid'), { key: null, raw: text, headers })
    }
    expect(await rejected(send)).toEqual(['invalid_parameter', 'X-Shopify-Topic'])
  })

  test('401, not 400, when the signature is wrong too', async () => {
    const text = orderPayload({ id: store.nextId() })
    const reply = await store.notify('orders-paid', text, {
      'X-Shopify-Hmac-Sha256': `${'A'.repeat(43)}=`,
      'X-Shopify-Topic': 'orders/updated',
    })
    expect(reply.status).toBe(401)
  })
})

describe('signed bytes of one topic, sent to the endpoint of another with its topic header', () => {
  const cents = async (id: number) => (await store.commission(id))?.commissionAmountCents

  test('a paid order does not cancel itself', async () => {
    const id = store.nextId()
    const text = orderPayload({ id, codes })
    await expectOk(store.notify('orders-paid', text))
    expect(await rejected(() => store.notify('orders-cancelled', text))).toEqual(['invalid_body', 'cancelled_at'])
    expect(await store.commission(id)).toMatchObject({ orderStatus: 'APPROVED', commissionAmountCents: 1600 })
  })

  test('an order is not a refund, and a refund is not an order', async () => {
    const id = store.nextId()
    await expectOk(store.notify('orders-paid', orderPayload({ id, codes })))
    await rejected(() => store.notify('refunds-create', orderPayload({ id, codes })))
    const refund = refundPayload({ id, orderId: id, items: [{ ...line, subtotal: 100 }] })
    await rejected(() => store.notify('orders-paid', refund))
    await rejected(() => store.notify('orders-cancelled', refund))
    expect(await cents(id)).toBe(1600)
  })

  test.each(['pending', 'authorized', 'partially_paid', 'voided', 'expired', 'unpaid', '', null])(
    'an order that is %s is not paid',
    async (financial_status) => {
      const text = JSON.stringify({ ...JSON.parse(orderPayload({ id: store.nextId(), codes })), financial_status })
      expect(await rejected(() => store.notify('orders-paid', text))).toEqual(['invalid_body', 'financial_status'])
    },
  )

  // The properties of each that resemble what an endpoint reads.
  test.each([
    [
      'a draft order',
      { id: 1, order_id: null, status: 'open', currency: 'USD', subtotal_price: '100.00', line_items: [line] },
    ],
    [
      'a checkout',
      { id: 1, token: 'x', landing_site: '/?ref=nisa-karim', total_line_items_price: '100.00', line_items: [line] },
    ],
    ['a fulfillment', { id: 1, order_id: 2, status: 'success', line_items: [line] }],
    ['a transaction', { id: 1, order_id: 2, kind: 'refund', status: 'success', amount: '100.00' }],
    ['a customer', { id: 1, email: 'jon@example.com', state: 'disabled' }],
  ])('%s is rejected by these endpoints', async (_, payload) => {
    for (const endpoint of ['orders-paid', 'orders-cancelled', 'refunds-create'] as const) {
      const [code] = await rejected(() => store.notify(endpoint, JSON.stringify(payload)))
      expect(code).toBe('invalid_body')
    }
  })

  test('a canceled order is recorded as canceled, even without a cancellation notification', async () => {
    const id = store.nextId()
    const reply = await store.notify('orders-paid', canceledPayload({ id, codes }))
    expect(reply.status).toBe(200)
    expect(await store.commission(id)).toMatchObject({ id: reply.body.id, orderStatus: 'CANCELED' })
    await expectOk(store.notify('orders-cancelled', canceledPayload({ id })))
    expect((await store.commission(id)).orderStatus).toBe('CANCELED')
  })

  test('a canceled order without attribution stays canceled when it is attributed later', async () => {
    const id = store.nextId()
    await expectOk(store.notify('orders-paid', canceledPayload({ id })))
    expect(await store.commission(id)).toBeUndefined()
    await expectOk(store.notify('orders-paid', orderPayload({ id, codes })))
    expect((await store.commission(id)).orderStatus).toBe('CANCELED')
  })

  test('a repeated notification of a recorded order does not cancel it', async () => {
    const id = store.nextId()
    await expectOk(store.notify('orders-paid', orderPayload({ id, codes })))
    const again = await store.notify('orders-paid', canceledPayload({ id, codes }))
    expect(again.headers.get('X-Order-Already-Recorded')).toBe('true')
    expect((await store.commission(id)).orderStatus).toBe('APPROVED')
  })

  test.each(['paid', 'partially_refunded', 'refunded'])('an order that is %s was paid', async (financialStatus) => {
    const id = store.nextId()
    await expectOk(store.notify('orders-paid', orderPayload({ id, codes, financialStatus })))
    expect(await cents(id)).toBe(1600)
  })

  test('a refund without line items is a refund', async () => {
    const id = store.nextId()
    await expectOk(store.notify('orders-paid', orderPayload({ id, codes })))
    await expectOk(store.notify('refunds-create', refundPayload({ orderId: id, discrepancy: '-50.00' })))
    expect(await cents(id)).toBe(800)
  })
})
