import { afterEach, beforeEach, expect, test } from 'vitest'
import { problems } from '../support/document.ts'
import { countOf, rowsOf } from '../support/inspect.ts'
import { type Fixture, names, until, webhookFixture } from './fixture.ts'

let fixture: Fixture
beforeEach(async () => {
  fixture = await webhookFixture()
  names.set('hooks.example.com', ['8.8.8.8'])
})
afterEach(() => fixture.close())

const ask = (url: string | undefined) =>
  fixture.request('POST', '/api/v1/webhooks?test=1', { body: { url, events: ['x'], secret: 'x' } })
const RESPONSE = { ok: true, message: 'Test event sent to the subscriptions that accept it.' }

test('it is sent to subscriptions to all events or to test, not to the url, and creates no subscription', async () => {
  fixture.plant(fixture.receiver.at('/all'))
  fixture.plant(fixture.receiver.at('/named'), { events: ['commission.created', 'test'] })
  fixture.plant(fixture.receiver.at('/filtered'), { events: ['commission.created'] })
  await fixture.send()
  const { status, body } = await ask(fixture.receiver.at('/asked'))
  expect([status, body]).toEqual([200, RESPONSE])
  await until(() => fixture.deliveries({ status: 'SENT' }).length === 2)
  expect(fixture.receiver.received.map(({ url }) => url).sort()).toEqual(['/all', '/named'])
  for (const { headers, body: bytes } of fixture.receiver.received) {
    expect(headers['x-service-event']).toBe('test')
    const event = JSON.parse(bytes.toString())
    expect(event).toEqual({
      event: 'test',
      timestamp: '2026-11-02T12:00:00.000Z',
      shop_id: fixture.shop.shopId,
      data: { test: true, message: 'This is a test event.' },
    })
    expect(problems('/components/schemas/TestEvent', event)).toEqual([])
  }
  expect(countOf(fixture, 'subscriptions')).toBe(3)
  expect(rowsOf(fixture, 'audits', { action: 'webhook.test_sent' })).toMatchObject([{ subjectId: null, data: '{}' }])
})

test('the response is the same without a matching subscription', async () => {
  fixture.plant(fixture.receiver.at('/filtered'), { events: ['commission.created'] })
  const { status, body } = await ask('https://hooks.example.com/')
  expect([status, body]).toEqual([200, RESPONSE])
  expect(fixture.deliveries()).toEqual([])
})

test('the url is required and validated', async () => {
  expect((await ask(undefined)).headers.get('X-Error-Code')).toBe('invalid_body')
  expect((await ask('https://10.0.0.1/')).headers.get('X-Error-Code')).toBe('webhook_url_refused')
  expect((await ask('http://hooks.example.com/')).status).toBe(400)
})
