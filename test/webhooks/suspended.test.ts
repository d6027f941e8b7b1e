// Full: it waits for receivers that hang or fail.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { operate } from '../support/operator.ts'
import { expectOk } from '../support/shop.ts'
import { type Fixture, until, webhookFixture } from './fixture.ts'

let fixture: Fixture
beforeEach(async () => {
  fixture = await webhookFixture()
})
afterEach(() => fixture.close())

const change = (what: 'suspend' | 'resume') =>
  expectOk(operate(fixture, 'POST', `/shops/${fixture.shop.shopId}/${what}`))
const countOf = (status: 'PENDING' | 'SENT') => fixture.deliveries({ shopId: fixture.shop.shopId, status }).length
const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

test('events of a suspended shop wait, those of another are sent, and all are sent once it is resumed', async () => {
  const other = await fixture.createShop()
  fixture.plant(fixture.receiver.at('/held'))
  fixture.plant(fixture.receiver.at('/other'), { shopId: other.shopId })
  for (let i = 0; i < 3; i++) await fixture.test()
  await change('suspend')
  await fixture.send({ pollMs: 20 })
  const body = { url: 'https://hooks.example.com/' }
  await expectOk(fixture.asShop(other).request('POST', '/api/v1/webhooks?test=1', { body }))
  await until(() => fixture.receiver.received.length === 1)
  await sleep(200)
  expect(fixture.receiver.received.map(({ url }) => url)).toEqual(['/other'])
  expect(countOf('PENDING')).toBe(3)
  await change('resume')
  await until(() => countOf('SENT') === 3)
  expect(fixture.receiver.received.filter(({ url }) => url === '/held')).toHaveLength(3)
})

test('a shop that is suspended while its events are sent receives only those in flight, and each of them once', async () => {
  const EVENTS = 160
  fixture.plant(fixture.receiver.at('/slow/100'))
  for (let i = 0; i < EVENTS; i++) await fixture.test()
  await fixture.send({ pollMs: 20 })
  await until(() => fixture.receiver.received.length > 0)
  await change('suspend')
  await sleep(400)
  const held = countOf('PENDING')
  const arrived = fixture.receiver.received.length
  expect([held > 0, held + arrived]).toEqual([true, EVENTS])
  await sleep(300)
  expect([countOf('PENDING'), fixture.receiver.received.length]).toEqual([held, arrived])
  await change('resume')
  await until(() => countOf('SENT') === EVENTS)
  const ids = fixture.receiver.received.map(({ headers }) => headers['webhook-id'])
  expect([ids.length, new Set(ids).size]).toEqual([EVENTS, EVENTS])
})
