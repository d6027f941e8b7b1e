import { afterEach, beforeEach, expect, test } from 'vitest'
import { countOf } from '../support/inspect.ts'
import { admin } from '../support/owner.ts'
import { newAffiliate } from '../support/shop.ts'
import { type Fixture, names, until, webhookFixture } from './fixture.ts'

const PATH = '/api/v1/webhooks'
const URL = 'https://hooks.example.com/'

let fixture: Fixture
beforeEach(async () => {
  fixture = await webhookFixture()
  names.set('hooks.example.com', ['8.8.8.8'])
})
afterEach(() => fixture.close())

const post = (body: object = {}, key = fixture.shop.key) =>
  fixture.request('POST', PATH, { body: { url: URL, ...body }, key })
const codeOf = ({ status, headers }: Awaited<ReturnType<typeof post>>) => [status, headers.get('X-Error-Code')]
const count = () => countOf(fixture, 'subscriptions')

const ODD = ['', ' ', 'x'.repeat(300_000), 'a,b', '"', '\\', "'); drop", 'é✓😀', 'line\nbreak', 'commission.created']

test('200 for any text as an event name, returned as sent', async () => {
  const created = await post({ events: ODD })
  expect([created.status, created.body.data.events]).toEqual([200, ODD])
  expect((await fixture.request('GET', PATH)).body.data[0].events).toEqual(ODD)
  const many = Array.from({ length: 5000 }, (_, i) => `name.${i}`)
  expect(
    (await admin(fixture, 'PATCH', `/webhooks/${created.body.data.id}`, { events: many })).body.data.events,
  ).toEqual(many)
  expect((await post({ events: [''] })).status).toBe(200)
})

test('400 for an event name that is not text', async () => {
  for (const events of [[1], [null], [['x']], 'all', {}]) {
    expect(codeOf(await post({ events }))).toEqual([400, 'invalid_body'])
  }
})

test('an event is sent only to subscriptions that name it', async () => {
  const subscribe = (path: string, events: string[]) => post({ url: fixture.receiver.at(path), events })
  await subscribe('/odd', [...ODD, 'affiliate.approved'])
  await subscribe('/empty-name', [''])
  await subscribe('/almost', [
    '"affiliate.approved"',
    'affiliate.approved ',
    'xaffiliate.approved',
    'affiliate.approve',
  ])
  await subscribe('/all', [])
  await fixture.send()
  await newAffiliate(fixture)
  await until(() => fixture.deliveries({ status: 'SENT' }).length === 3)
  const events = (path: string) => fixture.receiver.to(path).map(({ headers }) => headers['x-service-event'])
  expect(events('/odd')).toEqual(['affiliate.approved'])
  expect(events('/all')).toEqual(['affiliate.approved', 'affiliate.status_changed'])
  expect(fixture.receiver.received).toHaveLength(3)
})

test('409 for the 101st subscription of a shop, until one is removed; other shops have their own', async () => {
  const planted = Array.from({ length: 99 }, () => fixture.plant(URL))
  expect((await post()).status).toBe(200)
  const refused = await post()
  expect(codeOf(refused)).toEqual([409, 'webhook_limit_reached'])
  expect(refused.body.error).toContain('100')
  const other = await fixture.createShop()
  expect((await post({}, other.key)).status).toBe(200)
  expect((await fixture.request('DELETE', `${PATH}?id=${planted[0]}`)).status).toBe(200)
  expect((await post()).status).toBe(200)
  expect(codeOf(await post())).toEqual([409, 'webhook_limit_reached'])
  expect(count()).toBe(101)
})

test('parallel calls never exceed the limit', async () => {
  for (let i = 0; i < 98; i++) fixture.plant(URL)
  for (let round = 0; round < 4; round++) await Promise.all(Array.from({ length: 8 }, () => post()))
  expect(count()).toBe(100)
})

test('409 when the event names of a shop exceed 1 MiB in total, even through an update', async () => {
  const first = await post({ events: ['x'.repeat(600 * 1024)] })
  expect(first.status).toBe(200)
  expect(codeOf(await post({ events: ['y'.repeat(600 * 1024)] }))).toEqual([409, 'webhook_limit_reached'])
  const second = await post({ events: ['y'.repeat(300 * 1024)] })
  expect(second.status).toBe(200)
  const grow = (length: number) =>
    admin(fixture, 'PATCH', `/webhooks/${second.body.data.id}`, { events: ['z'.repeat(length)] })
  expect(codeOf(await grow(500 * 1024))).toEqual([409, 'webhook_limit_reached'])
  expect((await grow(400 * 1024)).status).toBe(200)
  // Its own names before the change do not count.
  expect((await grow(410 * 1024)).status).toBe(200)
})
