import { createHmac } from 'node:crypto'
import { unwrap } from '@referral/webhook-verifier'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { problems } from '../support/document.ts'
import { convert, newAffiliate, withAffiliate } from '../support/shop.ts'
import { type Fixture, until, webhookFixture } from './fixture.ts'

let at: Fixture
beforeEach(async () => {
  at = await webhookFixture()
})
afterEach(() => at.close())

const subscribe = async (path: string, body: object = {}) => {
  const reply = await at.request('POST', '/api/v1/webhooks', { body: { url: at.receiver.at(path), ...body } })
  expect(reply.status).toBe(200)
  return reply.body.data.id as string
}

test('a conversion reaches its subscriber as the very bytes that are signed', async () => {
  const secret = 'a secret with ünïcode'
  at.clock.ms = Date.now()
  await withAffiliate(at)
  await subscribe('/hook?shop=1', { events: ['commission.created'], secret })
  await at.send()
  await convert(at, { externalOrderId: 'x1', amountCents: 10_000, couponCode: 'NISA16', orderName: 'Ø order ✓' })
  await until(() => at.receiver.received.length === 1)

  const [request] = at.receiver.received
  const { headers, body } = request!
  expect(request).toMatchObject({ method: 'POST', url: '/hook?shop=1' })
  expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-service-event': 'commission.created' })
  expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'))
  new Webhook(Buffer.from(secret).toString('base64')).verify(body, headers)
  const proven = await unwrap({ headers, body }, { secret, requireTimestamp: true })
  expect(proven).toMatchObject({
    event: 'commission.created',
    shop_id: at.shop.shopId,
    data: { externalOrderId: 'x1' },
  })
  expect(problems('/components/schemas/CommissionCreatedEvent', JSON.parse(body.toString()))).toEqual([])
  expect(at.sql.prepare('select body from "webhookEvents"').pluck().get()).toBe(body.toString())

  await until(() => at.deliveries(`"status" = 'SENT'`).length === 1)
  const [delivery] = at.deliveries()
  expect(delivery).toMatchObject({ code: 'ok', httpStatus: 200, webhookId: headers['webhook-id'] })
})

test('without a secret a delivery has its id and its time, an empty signature and no Standard Webhooks signature', async () => {
  await subscribe('/open')
  await at.send()
  await at.test()
  await until(() => at.receiver.received.length === 1)
  const { headers, rawHeaders } = at.receiver.received[0]!
  expect(headers['x-service-signature']).toBe('')
  expect(rawHeaders.filter((name) => /^webhook-/i.test(name))).toEqual(['webhook-id', 'webhook-timestamp'])
  expect(headers['webhook-id']).toBe(at.deliveries()[0]!.webhookId)
  expect(headers['webhook-timestamp']).toBe(String(Math.floor(at.clock.ms / 1000)))
})

test('an event goes to those who take all or name it, and to nobody else', async () => {
  const other = await at.createShop()
  at.plant(at.receiver.at('/foreign'), { shopId: other.shopId })
  await subscribe('/all')
  await subscribe('/approved', { events: ['affiliate.approved', 'no such event'] })
  await subscribe('/money', { events: ['commission.created', 'commission.paid'] })
  await subscribe('/case', { events: ['Affiliate.Approved'] })
  await at.send()
  await newAffiliate(at)
  await until(() => at.receiver.received.length === 3)
  await until(() => at.deliveries(`"status" = 'SENT'`).length === 3)
  const events = (path: string) => at.receiver.to(path).map(({ headers }) => headers['x-service-event'])
  expect(events('/all')).toEqual(['affiliate.approved', 'affiliate.status_changed'])
  expect(events('/approved')).toEqual(['affiliate.approved'])
  expect(at.receiver.received).toHaveLength(3)
})

test('the same address subscribed twice gets the event twice, under two ids', async () => {
  await subscribe('/twice', { secret: 'one' })
  await subscribe('/twice', { secret: 'two' })
  await at.send()
  await at.test()
  await until(() => at.receiver.received.length === 2)
  expect(new Set(at.receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(2)
})

test('both events of one change come in order, however slow the first is', async () => {
  await subscribe('/slow/150')
  await at.send()
  for (let i = 0; i < 4; i++) await newAffiliate(at)
  await until(() => at.receiver.received.length === 8)
  const seen = at.receiver.received.map(({ headers, body }) => [
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
  await at.send()
  const { id } = await newAffiliate(at)
  await until(() => at.receiver.received.length === 2)
  at.sql.exec(`create trigger broken before insert on audits begin select raise(abort, 'no audit'); end`)
  const reply = await at.request('PATCH', `/api/v1/affiliates?id=${id}`, { body: { status: 'REJECTED' } })
  expect(reply.status).toBe(503)
  at.sql.exec('drop trigger broken')
  expect(at.deliveries()).toHaveLength(2)
})

test('a failure to deliver changes nothing for the call that caused it', async () => {
  at.plant('http://127.0.0.1:1/')
  await at.send()
  await newAffiliate(at)
  await until(() => at.deliveries(`"status" = 'FAILED'`).length === 2)
})
