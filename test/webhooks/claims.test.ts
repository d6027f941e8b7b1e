import { afterEach, beforeEach, expect, test } from 'vitest'
import { countOf } from '../support/inspect.ts'
import type { Reply } from '../support/server.ts'
import { type Fixture, names, webhookFixture } from './fixture.ts'

const PATH = '/api/v1/webhooks'
const URL = 'https://hooks.example.com/'
/** Calls of one turn all read before any of them writes: the barrier is the event loop. */
const N = 16

let fixture: Fixture
beforeEach(async () => {
  fixture = await webhookFixture()
  names.set('hooks.example.com', ['8.8.8.8'])
})
afterEach(() => fixture.close())

const parallel = (call: (i: number) => Promise<Reply>) => Promise.all(Array.from({ length: N }, (_, i) => call(i)))
const subscribe = (headers: Record<string, string> = {}) =>
  fixture.request('POST', PATH, { body: { url: URL }, headers })

function expectOneWinner(replies: Reply[]) {
  expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(N - 1).fill(409)])
  const losers = replies.filter(({ status }) => status === 409)
  expect(new Set(losers.map(({ headers }) => headers.get('X-Error-Code')))).toEqual(new Set(['concurrent_change']))
}

test('concurrent subscribe calls: one subscription is stored, with one audit record', async () => {
  const before = countOf(fixture, 'audits')
  expectOneWinner(await parallel(() => subscribe()))
  expect(countOf(fixture, 'subscriptions')).toBe(1)
  expect(countOf(fixture, 'audits')).toBe(before + 1)
  expect((await subscribe()).status).toBe(200)
})

test('concurrent unsubscribe and subscribe calls: one wins', async () => {
  const { id } = (await subscribe()).body.data
  expectOneWinner(await parallel((i) => (i % 2 ? subscribe() : fixture.request('DELETE', `${PATH}?id=${id}`))))
  expect([0, 2]).toContain(countOf(fixture, 'subscriptions'))
})

test('concurrent calls of different shops do not affect each other', async () => {
  const other = await fixture.createShop()
  const replies = await Promise.all([
    subscribe(),
    fixture.request('POST', PATH, { body: { url: URL }, key: other.key }),
  ])
  expect(replies.map(({ status }) => status)).toEqual([200, 200])
})

test('the same Idempotency-Key in parallel: one subscription, the rest are replays', async () => {
  const replies = await parallel(() => subscribe({ 'Idempotency-Key': 'once' }))
  expect(new Set(replies.map(({ body }) => body.data.id)).size).toBe(1)
  expect(replies.filter(({ headers }) => headers.get('Idempotent-Replayed') === 'true')).toHaveLength(N - 1)
  expect(countOf(fixture, 'subscriptions')).toBe(1)
})

test('a repeated call returns the first response, even when its host is no longer public', async () => {
  const first = await subscribe({ 'Idempotency-Key': 'kept' })
  names.set('hooks.example.com', ['127.0.0.1'])
  const again = await subscribe({ 'Idempotency-Key': 'kept' })
  expect([again.status, again.body]).toEqual([200, first.body])
  expect((await subscribe()).status).toBe(400)
})

test('a test event is sent once for one Idempotency-Key', async () => {
  fixture.plant(URL)
  const ask = () =>
    fixture.request('POST', `${PATH}?test=1`, { body: { url: URL }, headers: { 'Idempotency-Key': 't' } })
  const replies = await parallel(ask)
  expect(replies.every(({ status }) => status === 200)).toBe(true)
  expect(fixture.deliveries()).toHaveLength(1)
})
