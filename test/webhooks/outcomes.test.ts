import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Fixture, until, webhookFixture } from './fixture.ts'

const SECRET = 'never-in-a-log'

let at: Fixture
beforeEach(async () => {
  at = await webhookFixture()
})
afterEach(() => at.close())

/** Delivers one test event to a URL and gives the row that is kept of it. */
async function outcomeOf(url: string, secret?: string) {
  at.plant(url, { secret })
  await at.test()
  await until(() => at.deliveries(`"finishedAt" is not null`).length === 1)
  return at.deliveries()[0]!
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
])('%s is %s, once and for all', async (path, code, status) => {
  await at.send()
  const row = await outcomeOf(at.receiver.at(path), SECRET)
  expect(row).toMatchObject({ code, status, httpStatus: Number(path.slice(-3)) })
  expect(row.durationMs).toBeGreaterThanOrEqual(0)
  expect(at.receiver.received).toHaveLength(1)
})

test('timeout when no answer comes in time', async () => {
  await at.send({ totalMs: 200 })
  expect(await outcomeOf(at.receiver.at('/hang'))).toMatchObject({ code: 'timeout', httpStatus: null })
})

test('timeout when it does not connect in time, to which the look-up of the name belongs', async () => {
  await at.send({ connectMs: 200, resolve: () => new Promise(() => {}) })
  expect(await outcomeOf('https://hooks.example.com/')).toMatchObject({ code: 'timeout', httpStatus: null })
})

test('connect when nobody listens or the connection breaks', async () => {
  const idle = createServer().listen(0, '127.0.0.1')
  await once(idle, 'listening')
  const host = `127.0.0.1:${(idle.address() as AddressInfo).port}`
  idle.close()
  await at.send({ config: { webhookAllow: [host, at.receiver.host] } })
  expect(await outcomeOf(`http://${host}/`)).toMatchObject({ code: 'connect', httpStatus: null })
  at.plant(at.receiver.at('/reset'))
  await at.test()
  await until(() => at.deliveries(`"code" = 'connect'`).length === 3)
})

test('connect for what is not HTTP', async () => {
  const odd = createServer((socket) => void socket.end('220 smtp.example.com\r\n')).listen(0, '127.0.0.1')
  await once(odd, 'listening')
  const host = `127.0.0.1:${(odd.address() as AddressInfo).port}`
  await at.send({ config: { webhookAllow: [host] } })
  expect(await outcomeOf(`http://${host}/`)).toMatchObject({ code: 'connect', httpStatus: null })
  odd.close()
})

test('tls when the receiver speaks none', async () => {
  await at.send()
  expect(await outcomeOf(at.receiver.at('/').replace('http:', 'https:'))).toMatchObject({ code: 'tls' })
})

test('secret_unreadable when no key opens the secret; nothing is sent', async () => {
  const id = at.plant(at.receiver.at('/ok'), { secret: SECRET })
  const foreign = at.deps.vault.seal(SECRET, 'whs_another')
  at.sql.prepare('update subscriptions set secret = ? where id = ?').run(foreign, id)
  await at.send()
  await at.test()
  await until(() => at.deliveries(`"code" = 'secret_unreadable'`).length === 1)
  expect(at.receiver.received).toEqual([])
})

test.each([
  ['body', 'ok', 200],
  ['chunks', 'ok', 200],
  ['extensions', 'ok', 200],
  ['trailers', 'connect', null],
  ['headers', 'connect', null],
  ['header', 'connect', null],
  ['informational', 'connect', null],
])(
  'an answer of endless %s is read no further than 64 KiB, and then counts as far as it is known',
  async (kind, code, httpStatus) => {
    await at.send()
    const row = await outcomeOf(at.receiver.at(`/${kind}/16000`))
    expect(row).toMatchObject({ code, httpStatus })
    expect(row.durationMs).toBeLessThan(5000)
    await until(() => at.receiver.closed.length === 1)
    expect(at.receiver.closed[0]!.bytes).toBeLessThan(300_000)
  },
)

test('a long answer that comes at once counts by its status, and the next delivery is not cut short', async () => {
  await at.send()
  const id = at.plant(at.receiver.at('/sized/1000000'))
  for (let n = 1; n <= 3; n++) {
    await at.test()
    await until(() => at.deliveries(`"status" = 'SENT'`).length === n)
  }
  expect(at.deliveries(`"code" = 'ok' and "subscriptionId" = '${id}'`)).toHaveLength(3)
})

test('64 KiB are counted for each delivery, not for its connection', async () => {
  await at.send()
  const id = at.plant(at.receiver.at('/sized/40000'))
  for (let n = 1; n <= 5; n++) {
    await at.test()
    await until(() => at.deliveries(`"status" = 'SENT'`).length === n)
  }
  expect(at.deliveries(`"code" = 'ok' and "subscriptionId" = '${id}'`)).toHaveLength(5)
  expect(at.receiver.connections()).toBe(1)
})

test.each(['open', 'body', 'informational', 'extensions'])(
  'timeout when an answer of %s does not end in time',
  async (kind) => {
    await at.send({ totalMs: 300 })
    const row = await outcomeOf(at.receiver.at(`/${kind}/1`))
    expect(row).toMatchObject({ code: 'timeout', httpStatus: null, status: 'FAILED' })
    expect(row.durationMs).toBeLessThan(1500)
    await until(() => at.receiver.closed.length === 1)
  },
)

test('connect when the connection breaks in the middle of the answer', async () => {
  await at.send()
  expect(await outcomeOf(at.receiver.at('/half'))).toMatchObject({ code: 'connect', httpStatus: null })
})

test('an answer that ends with its connection is whole', async () => {
  await at.send()
  expect(await outcomeOf(at.receiver.at('/until-close'))).toMatchObject({ code: 'ok', httpStatus: 200 })
})

test('logs tell ids and codes, never the URL, the secret, the payload or what the network said', async () => {
  await at.send({ totalMs: 200 })
  for (const path of ['/status/500?token=in-the-url', '/reset', '/hang'])
    at.plant(at.receiver.at(path), { secret: SECRET })
  at.plant('https://private.example.com/in-the-url')
  at.plant('https://127.0.0.1/in-the-url')
  await at.test()
  await until(() => at.deliveries(`"finishedAt" is not null`).length === 5)
  const logs = at.logs.filter((line) => line.includes('webhook not delivered'))
  expect(logs).toHaveLength(5)
  for (const hidden of [SECRET, 'in-the-url', '127.0.0.1', 'private.example', 'This is a test', 'ECONN', 'socket']) {
    expect(logs.join('\n')).not.toContain(hidden)
  }
})

test('an idle connection is not kept for as long as the receiver asks', async () => {
  await at.send()
  at.plant(at.receiver.at('/keep-alive'))
  await at.test()
  await until(() => at.receiver.closed.length === 1)
  expect(at.deliveries()[0]).toMatchObject({ code: 'ok' })
})
