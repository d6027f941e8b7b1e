// Full: it starts other processes.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { rowOf, rowsOf, updateRows } from '../support/inspect.ts'
import { expectOk } from '../support/shop.ts'
import { type Fixture, until, webhookFixture } from './fixture.ts'

const [SECOND, MINUTE, HOUR] = [1000, 60_000, 3_600_000]
const RENEW = { pollMs: 25 }

let fixture: Fixture
beforeEach(async () => {
  fixture = await webhookFixture()
})
afterEach(() => fixture.close())

const retried = (path: string, given: object = {}) =>
  fixture.plant(fixture.receiver.at(path), { retryPolicy: 'standard', ...given })
const count = (status: 'PENDING' | 'RETRYING' | 'SENT' | 'FAILED') => fixture.deliveries({ status }).length
const testEvents = async (count: number) => {
  for (let i = 0; i < count; i++) await fixture.test()
}
const subscription = (id: string) => rowOf(fixture, 'subscriptions', { id })
const ids = (subscriptionId: string) =>
  fixture
    .deliveries({ subscriptionId })
    .map(({ id }) => id)
    .sort()
const audits = () => rowsOf(fixture, 'audits', { action: 'webhook.disabled' })
const update = (id: string, body: object) => expectOk(fixture.owner('PATCH', `/webhooks/${id}`, body))

/** Moves the clock past the next attempts. */
async function toNextAttempt() {
  const times = fixture.deliveries({ status: 'RETRYING' }).map(({ nextAttemptAt }) => Date.parse(nextAttemptAt ?? ''))
  fixture.clock.ms = Math.max(fixture.clock.ms, ...times)
}

test('a receiver that is down for an hour receives every event at least once, the first attempts in order', async () => {
  fixture.receiver.respond('/hook', 503)
  retried('/hook', { secret: 'x' })
  await fixture.send(RENEW)
  for (let minute = 0; minute < 60; minute += 5) {
    await fixture.test()
    await until(() => count('PENDING') === 0)
    fixture.clock.advance(5 * MINUTE)
    await until(() => fixture.deliveries().every((row) => row.status !== 'PENDING' && !isDue(row)))
  }
  expect(count('RETRYING')).toBe(12)
  fixture.receiver.respond('/hook', 200)
  while (count('SENT') < 12) {
    await toNextAttempt()
    const before = count('SENT')
    await until(() => count('SENT') > before)
  }
  const attempts = fixture.receiver.to('/hook')
  const first = [...new Set(attempts.map(({ headers }) => headers['webhook-id']))]
  expect(first).toEqual(
    fixture
      .deliveries()
      .map(({ webhookId }) => webhookId)
      .sort(),
  )
  expect(new Set(attempts.slice(-12).map(({ body }) => body.toString())).size).toBe(12)
  expect(fixture.deliveries().every(({ attempts }) => attempts > 1)).toBe(true)
})

const isDue = ({ nextAttemptAt }: { nextAttemptAt: string | null }) =>
  nextAttemptAt !== null && Date.parse(nextAttemptAt) <= fixture.clock.ms

test('8 attempts over about 28 hours, then the delivery has failed', async () => {
  retried('/status/500')
  await fixture.send(RENEW)
  await fixture.test()
  const started = fixture.clock.ms
  const waits: number[] = []
  for (let attempt = 1; attempt < 8; attempt++) {
    await until(() => fixture.deliveries()[0]?.attempts === attempt && count('RETRYING') === 1)
    const before = fixture.clock.ms
    await toNextAttempt()
    waits.push(fixture.clock.ms - before)
  }
  await until(() => count('FAILED') === 1)
  expect(fixture.receiver.to('/status/500')).toHaveLength(8)
  const expected = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR]
  for (const [n, wait] of waits.entries()) {
    expect(wait / expected[n]!).toBeGreaterThanOrEqual(0.9)
    expect(wait / expected[n]!).toBeLessThanOrEqual(1.1)
  }
  const hours = (fixture.clock.ms - started) / HOUR
  expect(hours).toBeGreaterThan(24)
  expect(hours).toBeLessThan(31)
  const { code, httpStatus, attempts, finishedAt, nextAttemptAt } = fixture.deliveries()[0]!
  expect([code, httpStatus, attempts, nextAttemptAt]).toEqual(['http_5xx', 500, 8, null])
  expect(finishedAt).toBe(new Date(fixture.clock.ms).toISOString())
})

test('without a retry policy there is one attempt', async () => {
  fixture.plant(fixture.receiver.at('/status/500'))
  await fixture.send(RENEW)
  await fixture.test()
  await until(() => count('FAILED') === 1)
  expect(fixture.deliveries()[0]).toMatchObject({ attempts: 1, nextAttemptAt: null })
})

test.each([
  ['seconds', () => '7200', 2 * HOUR],
  ['a date', () => new Date(Date.now() + 3 * HOUR).toUTCString(), 3 * HOUR],
  ['more than a day', () => '999999', 24 * HOUR],
])('Retry-After with %s delays the next attempt', async (_, header, wait) => {
  fixture.receiver.respond('/busy', 429, { 'Retry-After': header() })
  retried('/busy')
  await fixture.send()
  await fixture.test()
  await until(() => count('RETRYING') === 1)
  const next = Date.parse(fixture.deliveries()[0]?.nextAttemptAt ?? '') - fixture.clock.ms
  expect(Math.abs(next - wait)).toBeLessThan(5 * SECOND)
})

test('200 for the redelivery of a retrying delivery, which is attempted at once and stays the same', async () => {
  fixture.receiver.respond('/repaired', 500)
  retried('/repaired')
  await fixture.send()
  await fixture.test()
  await until(() => count('RETRYING') === 1)
  fixture.receiver.respond('/repaired', 200)
  const { id } = fixture.deliveries()[0]!
  const { status, body } = await fixture.request('POST', `/admin/v1/deliveries/${id}/redeliver`, {
    key: fixture.shop.ownerToken,
  })
  expect([status, body.data]).toMatchObject([200, { id, status: 'PENDING', attempts: 1, nextAttemptAt: null }])
  await until(() => count('SENT') === 1)
  expect(fixture.deliveries()).toMatchObject([{ id, attempts: 2 }])
})

test('410 disables a subscription with retries, with an audit; its other deliveries fail, and it receives nothing more', async () => {
  const id = retried('/status/410')
  const other = fixture.plant(fixture.receiver.at('/status/410/other'))
  await testEvents(20)
  await fixture.send(RENEW)
  await until(() => subscription(id).disabledAt !== null && count('PENDING') === 0)
  expect(subscription(id)).toMatchObject({ disabledReason: 'gone' })
  expect(audits().map(({ subjectId, actor, data }) => [subjectId, actor, data])).toEqual([
    [id, 'server', '{"reason":"gone"}'],
  ])
  expect(new Set(fixture.deliveries({ subscriptionId: id }).map(({ status }) => status))).toEqual(new Set(['FAILED']))
  const [retry] = fixture.deliveries({ subscriptionId: id })
  updateRows(
    fixture,
    'deliveries',
    { status: 'RETRYING', nextAttemptAt: '2026-01-01T00:00:00.000Z' },
    { id: retry!.id },
  )
  fixture.clock.advance(2 * SECOND)
  await until(() => fixture.deliveries({ id: retry!.id, status: 'FAILED', code: 'disabled' }).length === 1)
  await fixture.test()
  expect(fixture.deliveries({ subscriptionId: id })).toHaveLength(20)
  expect(subscription(other).disabledAt).toBeNull()
  const { data } = (await fixture.request('GET', '/api/v1/webhooks')).body
  const shown = data.find((one: { id: string }) => one.id === id)
  expect(shown).toMatchObject({ status: 'disabled', disabledReason: 'gone' })

  const [delivery] = fixture.deliveries({ subscriptionId: id })
  const again = await fixture.owner('POST', `/deliveries/${delivery?.id}/redeliver`)
  expect([again.status, again.headers.get('X-Error-Code')]).toEqual([409, 'webhook_disabled'])
  fixture.receiver.respond('/status/410', 200)
  expect(await update(id, { status: 'enabled' })).toMatchObject({ status: 'enabled', disabledReason: null })
  await fixture.test()
  await until(() => fixture.deliveries({ subscriptionId: id, status: 'SENT' }).length === 1)
})

test('five days without a success disable a subscription with retries; a success restarts the count', async () => {
  fixture.receiver.respond('/hook', 500)
  const id = retried('/hook')
  await fixture.send(RENEW)
  const fail = async () => {
    const before = fixture.receiver.to('/hook').length
    await fixture.test()
    await until(() => fixture.receiver.to('/hook').length > before && count('PENDING') === 0)
  }
  const since = fixture.clock.ms
  await fail()
  expect(subscription(id).failingSince).toBe(new Date(since).toISOString())
  fixture.clock.advance(4 * 24 * HOUR)
  await until(() => fixture.deliveries().every((row) => !isDue(row)))
  fixture.receiver.respond('/hook', 200)
  await fail()
  await until(() => subscription(id).failingSince === null)
  fixture.receiver.respond('/hook', 500)
  await fail()
  fixture.clock.advance(4 * 24 * HOUR)
  await fail()
  expect(subscription(id).disabledAt).toBeNull()
  fixture.clock.advance(24 * HOUR)
  await fixture.test()
  await until(() => subscription(id).disabledAt !== null)
  expect(subscription(id).disabledReason).toBe('failing')
  expect(audits().map(({ data }) => data)).toEqual(['{"reason":"failing"}'])
})

test('without a retry policy a subscription is never disabled', async () => {
  const id = fixture.plant(fixture.receiver.at('/status/410'))
  await fixture.send(RENEW)
  for (let day = 0; day < 7; day++) {
    await fixture.test()
    await until(() => count('PENDING') === 0)
    fixture.clock.advance(24 * HOUR)
  }
  expect(subscription(id)).toMatchObject({ disabledAt: null, failingSince: null })
})

test('the policy and the secret are those of each attempt', async () => {
  const id = retried('/status/500', { secret: 'old' })
  await fixture.send(RENEW)
  await fixture.test()
  await until(() => count('RETRYING') === 1)
  await update(id, { secret: null, retryPolicy: 'none' })
  await toNextAttempt()
  await until(() => count('FAILED') === 1)
  const [first, second] = fixture.receiver.received
  expect([first?.headers['x-service-signature'] === '', second?.headers['x-service-signature'] === '']).toEqual([
    false,
    true,
  ])
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
  expect(fixture.receiver.received).toHaveLength(2)
})

test('a failed first event of a change does not delay the second', async () => {
  retried('/status/500')
  await fixture.send(RENEW)
  const { id } = await expectOk(
    fixture.request('POST', '/api/v1/affiliates', { body: { email: 'nisa@example.com', name: 'Nisa' } }),
  )
  await expectOk(fixture.request('PATCH', `/api/v1/affiliates?id=${id}`, { body: { status: 'APPROVED' } }))
  await until(() => count('RETRYING') === 2)
  const events = fixture.receiver.received.map(({ headers }) => headers['x-service-event'])
  expect(events).toEqual(['affiliate.approved', 'affiliate.status_changed'])
})

test('retries that hang delay neither new events of other subscriptions nor those of their own', async () => {
  const slow = retried('/hang')
  await testEvents(150)
  updateRows(fixture, 'deliveries', { status: 'RETRYING', attempts: 1, nextAttemptAt: '2026-01-01T00:00:00.000Z' })
  const lastRetry = ids(slow).at(-1) ?? ''
  const fast = fixture.plant(fixture.receiver.at('/ok'))
  await fixture.send({ ...RENEW, totalMs: 200 })
  for (let n = 1; n <= 4; n++) {
    await fixture.test()
    await until(() => fixture.receiver.to('/ok').length === n)
  }
  await until(() => fixture.deliveries({ subscriptionId: fast, status: 'SENT' }).length === 4)
  const newEvents = () => fixture.deliveries({ subscriptionId: slow }).filter(({ id }) => id > lastRetry)
  expect(newEvents()).toHaveLength(4)
  await until(() => newEvents().every(({ attempts }) => attempts === 1))
  // The retries are not done by then.
  expect(count('PENDING')).toBeGreaterThan(100)
})

test('kill -9 during retries: every event arrives', async () => {
  fixture.receiver.respond('/hook', 503)
  const id = retried('/hook', { secret: 'x' })
  fixture.clock.ms = Date.now()
  await testEvents(30)
  const script = fileURLToPath(new URL('sender-process.ts', import.meta.url))
  for (let kill = 0; kill < 3; kill++) {
    const seen = fixture.receiver.received.length
    const child = fork(script, [fixture.url, fixture.receiver.host], { stdio: 'inherit' })
    await until(() => fixture.receiver.received.length >= seen + 10)
    child.kill('SIGKILL')
    await once(child, 'exit')
    updateRows(fixture, 'deliveries', { nextAttemptAt: '2026-01-01T00:00:00.000Z' }, { status: 'RETRYING' })
  }
  fixture.receiver.respond('/hook', 200)
  await fixture.send(RENEW)
  await until(() => fixture.deliveries({ subscriptionId: id, status: 'SENT' }).length === 30)
  const delivered = fixture.receiver.received.slice(-60).map(({ headers }) => headers['webhook-id'])
  expect(new Set(delivered)).toEqual(new Set(fixture.deliveries().map(({ webhookId }) => webhookId)))
})
