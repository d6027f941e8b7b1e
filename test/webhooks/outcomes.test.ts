// SQLite only: how deliveries are sent and responses are read does not depend on the database; delivery.test.ts runs on both.
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { updateRows } from '../support/inspect.ts'
import { type Fixture, until, webhookFixture } from './fixture.ts'

const SECRET = 'never-in-a-log'

let fixture: Fixture
beforeEach(async () => {
  fixture = await webhookFixture()
})
afterEach(() => fixture.close())

/** Delivers one test event to a URL and returns its stored row. */
async function outcomeOf(url: string, secret?: string) {
  fixture.plant(url, { secret })
  await fixture.test()
  await until(() => fixture.finished().length === 1)
  return fixture.deliveries()[0]!
}

test.each([
  ['/status/200', 'ok', 'SENT'],
  ['/status/204', 'ok', 'SENT'],
  ['/status/299', 'ok', 'SENT'],
  ['/status/304', 'refused_url', 'FAILED'],
  ['/status/400', 'http_4xx', 'FAILED'],
  ['/status/410', 'http_4xx', 'FAILED'],
  ['/status/500', 'http_5xx', 'FAILED'],
  ['/status/599', 'http_5xx', 'FAILED'],
])('%s is %s, without a retry', async (path, code, status) => {
  await fixture.send()
  const row = await outcomeOf(fixture.receiver.at(path), SECRET)
  expect(row).toMatchObject({ code, status, httpStatus: Number(path.slice(-3)) })
  expect(row.durationMs).toBeGreaterThanOrEqual(0)
  expect(fixture.receiver.received).toHaveLength(1)
})

test('timeout when no response arrives in time', async () => {
  await fixture.send({ totalMs: 200 })
  expect(await outcomeOf(fixture.receiver.at('/hang'))).toMatchObject({ code: 'timeout', httpStatus: null })
})

test('timeout when it does not connect in time, including the DNS lookup', async () => {
  await fixture.send({ connectMs: 200, resolve: () => new Promise(() => {}) })
  expect(await outcomeOf('https://hooks.example.com/')).toMatchObject({ code: 'timeout', httpStatus: null })
})

test('connect when the connection is refused or reset', async () => {
  const idle = createServer().listen(0, '127.0.0.1')
  await once(idle, 'listening')
  const host = `127.0.0.1:${(idle.address() as AddressInfo).port}`
  idle.close()
  await fixture.send({ config: { webhookAllow: [host, fixture.receiver.host] } })
  expect(await outcomeOf(`http://${host}/`)).toMatchObject({ code: 'connect', httpStatus: null })
  fixture.plant(fixture.receiver.at('/reset'))
  await fixture.test()
  await until(() => fixture.deliveries({ code: 'connect' }).length === 3)
})

test('connect for what is not HTTP', async () => {
  const odd = createServer((socket) => void socket.end('220 smtp.example.com\r\n')).listen(0, '127.0.0.1')
  await once(odd, 'listening')
  const host = `127.0.0.1:${(odd.address() as AddressInfo).port}`
  await fixture.send({ config: { webhookAllow: [host] } })
  expect(await outcomeOf(`http://${host}/`)).toMatchObject({ code: 'connect', httpStatus: null })
  odd.close()
})

test('tls when the receiver does not support TLS', async () => {
  await fixture.send()
  expect(await outcomeOf(fixture.receiver.at('/').replace('http:', 'https:'))).toMatchObject({ code: 'tls' })
})

test('secret_unreadable when no key decrypts the secret; nothing is sent', async () => {
  const id = fixture.plant(fixture.receiver.at('/ok'), { secret: SECRET })
  const foreign = fixture.deps.vault.seal(SECRET, 'whs_another')
  updateRows(fixture, 'subscriptions', { secret: foreign }, { id })
  await fixture.send()
  await fixture.test()
  await until(() => fixture.deliveries({ code: 'secret_unreadable' }).length === 1)
  expect(fixture.receiver.received).toEqual([])
})

test.each([
  ['body', 'ok', 200],
  ['chunks', 'ok', 200],
  ['extensions', 'ok', 200],
  ['trailers', 'connect', null],
  ['headers', 'connect', null],
  ['header', 'connect', null],
  ['informational', 'connect', null],
])('at most 64 KiB of endless %s are read; the result is what is known by then', async (kind, code, httpStatus) => {
  await fixture.send()
  const row = await outcomeOf(fixture.receiver.at(`/${kind}/16000`))
  expect(row).toMatchObject({ code, httpStatus })
  expect(row.durationMs).toBeLessThan(5000)
  await until(() => fixture.receiver.closed.length === 1)
  expect(fixture.receiver.closed[0]!.bytes).toBeLessThan(300_000)
})

test('a long response is judged by its status, and does not truncate the next delivery', async () => {
  await fixture.send()
  const id = fixture.plant(fixture.receiver.at('/sized/1000000'))
  for (let n = 1; n <= 3; n++) {
    await fixture.test()
    await until(() => fixture.deliveries({ status: 'SENT' }).length === n)
  }
  expect(fixture.deliveries({ code: 'ok', subscriptionId: id })).toHaveLength(3)
})

test('64 KiB are counted for each delivery, not for its connection', async () => {
  await fixture.send()
  const id = fixture.plant(fixture.receiver.at('/sized/40000'))
  for (let n = 1; n <= 5; n++) {
    await fixture.test()
    await until(() => fixture.deliveries({ status: 'SENT' }).length === n)
  }
  expect(fixture.deliveries({ code: 'ok', subscriptionId: id })).toHaveLength(5)
  expect(fixture.receiver.connections()).toBe(1)
})

test.each(['open', 'body', 'informational', 'extensions'])(
  'timeout when a response of %s does not end in time',
  async (kind) => {
    await fixture.send({ totalMs: 300 })
    const row = await outcomeOf(fixture.receiver.at(`/${kind}/1`))
    expect(row).toMatchObject({ code: 'timeout', httpStatus: null, status: 'FAILED' })
    expect(row.durationMs).toBeLessThan(1500)
    await until(() => fixture.receiver.closed.length === 1)
  },
)

test('connect when the connection breaks in the middle of the response', async () => {
  await fixture.send()
  expect(await outcomeOf(fixture.receiver.at('/half'))).toMatchObject({ code: 'connect', httpStatus: null })
})

test('a response that ends with its connection is complete', async () => {
  await fixture.send()
  expect(await outcomeOf(fixture.receiver.at('/until-close'))).toMatchObject({ code: 'ok', httpStatus: 200 })
})

test('logs contain ids and codes, never the URL, secret, payload or network errors', async () => {
  await fixture.send({ totalMs: 200 })
  for (const path of ['/status/500?token=in-the-url', '/reset', '/hang'])
    fixture.plant(fixture.receiver.at(path), { secret: SECRET })
  fixture.plant('https://private.example.com/in-the-url')
  fixture.plant('https://127.0.0.1/in-the-url')
  await fixture.test()
  await until(() => fixture.finished().length === 5)
  const logs = fixture.logs.filter((line) => line.includes('webhook not delivered'))
  expect(logs).toHaveLength(5)
  for (const hidden of [SECRET, 'in-the-url', '127.0.0.1', 'private.example', 'This is a test', 'ECONN', 'socket']) {
    expect(logs.join('\n')).not.toContain(hidden)
  }
})

test('an idle connection is closed earlier than the receiver asks', async () => {
  await fixture.send()
  fixture.plant(fixture.receiver.at('/keep-alive'))
  await fixture.test()
  await until(() => fixture.receiver.closed.length === 1)
  expect(fixture.deliveries()[0]).toMatchObject({ code: 'ok' })
})
