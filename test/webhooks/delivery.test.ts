import { createHmac } from 'node:crypto'
import { unwrap } from '@referral/webhook-verifier'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { problems } from '../support/document.ts'
import { rejectWrites } from '../support/faults.ts'
import { rowsOf } from '../support/inspect.ts'
import { convert, newAffiliate, withAffiliate } from '../support/shop.ts'
import { type Fixture, until, webhookFixture } from './fixture.ts'

let fixture: Fixture
beforeEach(async () => {
  fixture = await webhookFixture()
})
afterEach(() => fixture.close())

const subscribe = async (path: string, body: object = {}) => {
  const reply = await fixture.request('POST', '/api/v1/webhooks', { body: { url: fixture.receiver.at(path), ...body } })
  expect(reply.status).toBe(200)
  return reply.body.data.id as string
}

test('the bytes of a delivered conversion are the bytes that are signed', async () => {
  const secret = 'a secret with ünïcode'
  fixture.clock.ms = Date.now()
  await withAffiliate(fixture)
  await subscribe('/hook?shop=1', { events: ['commission.created'], secret })
  await fixture.send()
  await convert(fixture, { externalOrderId: 'x1', amountCents: 10_000, couponCode: 'NISA16', orderName: 'Ø order ✓' })
  await until(() => fixture.receiver.received.length === 1)

  const [request] = fixture.receiver.received
  const { headers, body } = request!
  expect(request).toMatchObject({ method: 'POST', url: '/hook?shop=1' })
  expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-service-event': 'commission.created' })
  expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'))
  new Webhook(Buffer.from(secret).toString('base64')).verify(body, headers)
  const proven = await unwrap({ headers, body }, { secret, requireTimestamp: true })
  expect(proven).toMatchObject({
    event: 'commission.created',
    shop_id: fixture.shop.shopId,
    data: { externalOrderId: 'x1' },
  })
  expect(problems('/components/schemas/CommissionCreatedEvent', JSON.parse(body.toString()))).toEqual([])
  const stored = rowsOf(fixture, 'webhookEvents').filter(({ event }) => event === 'commission.created')
  expect(stored.map((event) => event.body)).toEqual([body.toString()])

  await until(() => fixture.deliveries({ status: 'SENT' }).length === 1)
  const [delivery] = fixture.deliveries()
  expect(delivery).toMatchObject({ code: 'ok', httpStatus: 200, webhookId: headers['webhook-id'] })
})

test('without a secret a delivery has an id, a timestamp, an empty signature and no Standard Webhooks signature', async () => {
  await subscribe('/open')
  await fixture.send()
  await fixture.test()
  await until(() => fixture.receiver.received.length === 1)
  const { headers, rawHeaders } = fixture.receiver.received[0]!
  expect(headers['x-service-signature']).toBe('')
  expect(rawHeaders.filter((name) => /^webhook-/i.test(name))).toEqual(['webhook-id', 'webhook-timestamp'])
  expect(headers['webhook-id']).toBe(fixture.deliveries()[0]!.webhookId)
  expect(headers['webhook-timestamp']).toBe(String(Math.floor(fixture.clock.ms / 1000)))
})

test('an event is sent only to subscriptions to all events or to its name', async () => {
  const other = await fixture.createShop()
  fixture.plant(fixture.receiver.at('/foreign'), { shopId: other.shopId })
  await subscribe('/all')
  await subscribe('/approved', { events: ['affiliate.approved', 'no such event'] })
  await subscribe('/money', { events: ['commission.created', 'commission.paid'] })
  await subscribe('/case', { events: ['Affiliate.Approved'] })
  await fixture.send()
  await newAffiliate(fixture)
  await until(() => fixture.receiver.received.length === 3)
  await until(() => fixture.deliveries({ status: 'SENT' }).length === 3)
  const events = (path: string) => fixture.receiver.to(path).map(({ headers }) => headers['x-service-event'])
  expect(events('/all')).toEqual(['affiliate.approved', 'affiliate.status_changed'])
  expect(events('/approved')).toEqual(['affiliate.approved'])
  expect(fixture.receiver.received).toHaveLength(3)
})

test('an address subscribed twice receives the event twice, with two ids', async () => {
  await subscribe('/twice', { secret: 'one' })
  await subscribe('/twice', { secret: 'two' })
  await fixture.send()
  await fixture.test()
  await until(() => fixture.receiver.received.length === 2)
  expect(new Set(fixture.receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(2)
})

test('both events of one change arrive in order, however slow the first is', async () => {
  await subscribe('/slow/150')
  await fixture.send()
  for (let i = 0; i < 4; i++) await newAffiliate(fixture)
  await until(() => fixture.receiver.received.length === 8)
  const seen = fixture.receiver.received.map(({ headers, body }) => [
    JSON.parse(body.toString()).data.id,
    headers['x-service-event'],
  ])
  for (const id of new Set(seen.map(([affiliate]) => affiliate))) {
    const events = seen.filter(([affiliate]) => affiliate === id).map(([, event]) => event)
    expect(events).toEqual(['affiliate.approved', 'affiliate.status_changed'])
  }
})

test('nothing is sent for a change that was rolled back', async () => {
  await subscribe('/all')
  await fixture.send()
  const { id } = await newAffiliate(fixture)
  await until(() => fixture.receiver.received.length === 2)
  const allowWrites = rejectWrites(fixture, 'insert', 'audits')
  const reply = await fixture.request('PATCH', `/api/v1/affiliates?id=${id}`, { body: { status: 'REJECTED' } })
  expect(reply.status).toBe(503)
  allowWrites()
  expect(fixture.deliveries()).toHaveLength(2)
})

test('a failed delivery does not affect the call that caused it', async () => {
  fixture.plant('http://127.0.0.1:1/')
  await fixture.send()
  await newAffiliate(fixture)
  await until(() => fixture.deliveries({ status: 'FAILED' }).length === 2)
})
