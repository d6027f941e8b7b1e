import { unwrap } from '@referral/webhook-verifier'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { convert, withAffiliate } from '../support/shop.ts'
import { type Fixture, until, webhookFixture } from './fixture.ts'

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const secret = 'a secret of at least 32 characters'

let fixture: Fixture
beforeEach(async () => {
  fixture = await webhookFixture()
  fixture.clock.ms = Date.now()
  await withAffiliate(fixture)
  const body = { url: fixture.receiver.at('/hook'), secret, events: ['commission.created'] }
  expect((await fixture.request('POST', '/api/v1/webhooks', { body })).status).toBe(200)
  await fixture.send()
})
afterEach(() => fixture.close())

const order = async (externalOrderId: string, headers: Record<string, string> = {}) => {
  const body = { externalOrderId, amountCents: 10_000, couponCode: 'NISA16' }
  expect(await convert(fixture, body, { headers })).toMatchObject({ status: 201 })
}

test('the trace of a request is sent with the deliveries of its events, and signatures verify', async () => {
  await order('traced', { traceparent: TRACE })
  await until(() => fixture.receiver.received.length === 1)
  const { headers, body } = fixture.receiver.received[0]!
  expect(headers.traceparent).toBe(TRACE)
  expect(await unwrap({ headers, body }, { secret })).toMatchObject({ data: { externalOrderId: 'traced' } })

  await until(() => fixture.deliveries({ status: 'SENT' }).length === 1)
  const { id } = fixture.deliveries()[0]!
  const redelivery = await fixture.request('POST', `/admin/v1/deliveries/${id}/redeliver`, {
    key: fixture.shop.ownerToken,
    headers: { traceparent: TRACE.replace('0af7', 'ffff') },
  })
  expect(redelivery.status).toBe(200)
  await until(() => fixture.receiver.received.length === 2)
  expect(fixture.receiver.received[1]!.headers.traceparent).toBe(TRACE)
})

test('no trace is sent for a request without one, or with a malformed one', async () => {
  await order('untraced')
  await order('malformed', { traceparent: '00-zz-1-01' })
  await order('zero', { traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` })
  await until(() => fixture.receiver.received.length === 3)
  for (const { headers } of fixture.receiver.received) expect(headers).not.toHaveProperty('traceparent')
})

test('only the fields of version 00 are passed on', async () => {
  await order('later', { traceparent: `${TRACE.replace(/^00/, '01')}-more` })
  await until(() => fixture.receiver.received.length === 1)
  expect(fixture.receiver.received[0]!.headers.traceparent).toBe(TRACE)
})
