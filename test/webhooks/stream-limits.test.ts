// Full: it waits for receivers that hang or fail.
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createListener } from '../../server/src/http/listen.ts'
import { purgeExpired } from '../../server/src/operator/retention.ts'
import { countOf, insertRow, rowOf, rowsOf } from '../support/inspect.ts'
import { staffOf } from '../support/owner.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'

// Every test starts without open streams, so each has its own server.
let server: TestServer
const open: (() => Promise<void>)[] = []
beforeEach(async () => {
  server = await testServer()
})
afterEach(async () => {
  for (const leave of open.splice(0)) await leave()
  await server.close()
})

interface Given {
  token?: string
  after?: string
  method?: string
}

const PATH = 'http://test/admin/v1/deliveries/stream'

function request({ token = server.shop.ownerToken, after, method = 'GET' }: Given = {}) {
  const headers = { Authorization: `Bearer ${token}`, ...(after ? { 'Last-Event-ID': after } : {}) }
  return server.app.request(PATH, { method, headers })
}

/** Opens a stream and reads its first message. */
async function listen(given: Given = {}) {
  const response = await request(given)
  if (response.status !== 200) throw new Error(`refused with ${response.status}: ${await response.text()}`)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  const leave = async () => void (await reader.cancel().catch(() => {}))
  open.push(leave)
  const { value = '' } = await reader.read()
  return { id: /"subscriptionId":"(\w+)"/.exec(value)![1]!, reader, leave }
}

async function rejection(given: Given = {}) {
  const response = await request(given)
  if (response.status === 200) await response.body?.cancel()
  return [response.status, response.headers.get('X-Error-Code')]
}

const count = () => countOf(server, 'streams')
const LIMIT = [409, 'stream_limit_reached']

test('409 for the 6th stream of a user, until one is closed; other users have their own', async () => {
  const [first] = [await listen(), await listen(), await listen(), await listen(), await listen()]
  expect(await rejection()).toEqual(LIMIT)
  expect(await rejection()).toEqual(LIMIT)
  await listen({ token: await staffOf(server) })
  await first.leave()
  await listen()
  expect(await rejection()).toEqual(LIMIT)
  // The rejected request has left no rows.
  expect(count()).toBe(7)
})

test('409 for the 21st stream of a shop; other shops have their own', async () => {
  const tokens = [server.shop.ownerToken]
  for (let n = 0; n < 4; n++) tokens.push(await staffOf(server, `staff${n}@shop.example`))
  const streams = []
  for (const token of tokens.slice(0, 4)) for (let n = 0; n < 5; n++) streams.push(await listen({ token }))
  expect(await rejection({ token: tokens[4] })).toEqual(LIMIT)
  const other = await server.createShop()
  await listen({ token: other.ownerToken })
  await streams[7]!.leave()
  await listen({ token: tokens[4] })
})

test('parallel calls never open more than the limit', async () => {
  const all = await Promise.all(Array.from({ length: 12 }, () => request()))
  for (const { body, status } of all) if (status === 200) open.push(async () => void (await body?.cancel()))
  expect(all.filter(({ status }) => status === 200)).toHaveLength(5)
})

test('repeated opening and closing keeps at most 20 resumable streams', async () => {
  for (let n = 0; n < 45; n++) await (await listen()).leave()
  const now = new Date(server.clock.ms).toISOString()
  expect(rowsOf(server, 'streams').filter(({ expiresAt }) => expiresAt > now)).toHaveLength(20)
  server.clock.advance(1)
  await purgeExpired(server.deps)
  expect(count()).toBe(20)
})

test('a stream without a listener is closed before one with a listener, and before those of other users', async () => {
  const staff = await staffOf(server)
  const theirs = await listen({ token: staff })
  await theirs.leave()
  const mine = await listen()
  for (let n = 0; n < 40; n++) await (await listen()).leave()
  const again = await listen({ token: staff, after: theirs.id })
  expect(again.id).toBe(theirs.id)
  await withAffiliate(server)
  await expectOk(convert(server, { externalOrderId: 'g-1', amountCents: 100, couponCode: 'NISA16' }))
  expect((await mine.reader.read()).value).toContain('event: delivery')
})

test('resuming replaces the stream: it counts once, and the previous connection ends', async () => {
  const first = await listen()
  for (let n = 0; n < 4; n++) await listen()
  expect(await rejection()).toEqual(LIMIT)
  const second = await listen({ after: first.id })
  expect(second.id).toBe(first.id)
  let last = await first.reader.read()
  while (!last.done) last = await first.reader.read()
  expect(await rejection()).toEqual(LIMIT)
  expect(count()).toBe(5)
})

test('a stream whose process has ended counts no longer than 45 s', async () => {
  for (let n = 0; n < 5; n++) await listen()
  expect(await rejection()).toEqual(LIMIT)
  server.clock.advance(46_000)
  await listen()
})

test('HEAD opens no stream and stores nothing', async () => {
  const audits = () => countOf(server, 'audits')
  await staffOf(server)
  const before = audits()
  for (let n = 0; n < 10; n++) {
    const { status, headers, body } = await request({ method: 'HEAD' })
    expect([status, headers.get('Content-Type'), body]).toEqual([200, 'text/event-stream; charset=utf-8', null])
  }
  expect([count(), audits()]).toEqual([0, before])
  expect(await rejection({ method: 'HEAD', token: 'ro_nobody' })).toEqual([403, 'owner_token_unknown'])
})

test('a listener that never reads is disconnected, and its missed events take no memory', async () => {
  await withAffiliate(server)
  const listener = createListener(
    server.app.fetch,
    { ...server.deps, limiter: server.limiter },
    { stallTimeoutMs: 1000 },
  )
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const socket = connect((listener.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(
    `GET /admin/v1/deliveries/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.shop.ownerToken}\r\n\r\n`,
  )
  await new Promise((done) => setTimeout(done, 200))
  const { shopId } = server.shop
  const streamId = rowOf(server, 'streams', { shopId }).id
  global.gc?.()
  const before = process.memoryUsage().arrayBuffers
  // 40 MB exceed the buffers of the connection.
  const body = JSON.stringify({ note: 'x'.repeat(100_000) })
  for (let seq = 1; seq <= 400; seq++) {
    insertRow(server, 'webhookEvents', { id: `evt_${seq}`, shopId, event: 'test', body, createdAt: '' })
    insertRow(server, 'streamDeliveries', { shopId, id: `dlv_${seq}`, streamId, seq, eventId: `evt_${seq}` })
  }
  const closed = new Promise((done) => socket.once('close', done))
  const connections = () => new Promise<number>((done) => listener.getConnections((_, held) => done(held)))
  expect(await connections()).toBe(1)
  const until = performance.now() + 10_000
  let most = 0
  while ((await connections()) > 0 && performance.now() < until) {
    global.gc?.()
    most = Math.max(most, process.memoryUsage().arrayBuffers - before)
    await new Promise((done) => setTimeout(done, 50))
  }
  expect(await connections()).toBe(0)
  expect(most).toBeLessThan(30_000_000)
  // Its slot is free again.
  await new Promise((done) => setTimeout(done, 400))
  expect(rowsOf(server, 'streams').filter(({ connection }) => connection !== null)).toEqual([])
  socket.destroy()
  await closed
  listener.close()
})
