// Full: it waits for receivers that hang or fail.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { registerLeaseHolder, unregisterLeaseHolder } from '../../server/src/core/lease-holders.ts'
import { beforeTransaction, rejectWrites } from '../support/faults.ts'
import { updateRows } from '../support/inspect.ts'
import { type Fixture, until, webhookFixture } from './fixture.ts'

let fixture: Fixture
beforeEach(async () => {
  fixture = await webhookFixture()
})
afterEach(() => fixture.close())

const ids = () => fixture.receiver.received.map(({ headers }) => headers['webhook-id'])
const sent = () => fixture.deliveries({ status: 'SENT' }).length
const waiting = () => fixture.deliveries({ status: 'PENDING' }).length
const testEvents = async (count: number) => {
  for (let i = 0; i < count; i++) await fixture.test()
}
/** Claims the deliveries of a subscription for 15 seconds. */
const claim = (subscriptionId: string, claimedBy: string) => {
  const claimedUntil = new Date(fixture.clock.ms + 15_000).toISOString()
  updateRows(fixture, 'deliveries', { claimedBy, claimedUntil }, { subscriptionId })
}
const claimed = () => fixture.deliveries().filter(({ claimedBy }) => claimedBy !== null).length

test('a dispatcher sends events recorded before it started', async () => {
  fixture.plant(fixture.receiver.at('/ok'), { secret: 'x' })
  await testEvents(3)
  await fixture.send()
  await until(() => sent() === 3)
  expect(new Set(ids()).size).toBe(3)
})

test('polling finds deliveries without a wake-up', async () => {
  fixture.plant(fixture.receiver.at('/ok'))
  await fixture.send({ pollMs: 50 })
  fixture.deps.wakeDispatcher = () => {}
  await fixture.test()
  await until(() => sent() === 1)
})

test('four dispatchers share an outbox, and nothing is sent twice', async () => {
  for (let i = 0; i < 10; i++) fixture.plant(fixture.receiver.at(`/ok/${i}`), { secret: 'x' })
  await testEvents(60)
  await Promise.all([fixture.send(), fixture.send(), fixture.send(), fixture.send()])
  await until(() => sent() === 600 && fixture.receiver.received.length >= 600)
  expect(fixture.receiver.received).toHaveLength(600)
  expect(new Set(ids()).size).toBe(600)
  await until(() => claimed() === 0)
})

test('the deliveries of a killed process are taken over, also while its parent has not noticed', async () => {
  // The shell becomes `sleep`, which waits for no child.
  const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'])
  const pid = Number(String(await once(parent.stdout, 'data')))
  await until(() => / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')))
  const name = registerLeaseHolder()
  unregisterLeaseHolder(name)
  const id = fixture.plant(fixture.receiver.at('/killed'))
  await fixture.test()
  claim(id, name.replace(`/${process.pid}/`, `/${pid}/`))
  await fixture.send()
  await until(() => sent() === 1)
  parent.kill()
})

test('the deliveries of an ended process are taken over immediately, those of another machine when their claims expire', async () => {
  const name = registerLeaseHolder()
  unregisterLeaseHolder(name)
  const [here, self, elsewhere] = ['/here', '/self', '/elsewhere'].map((path) =>
    fixture.plant(fixture.receiver.at(path)),
  )
  await fixture.test()
  claim(here!, name.replace(`/${process.pid}/`, '/999999999/'))
  claim(self!, name)
  claim(elsewhere!, 'elsewhere/1/x')
  await fixture.send({ pollMs: 50 })
  await until(() => sent() === 2)
  expect(fixture.receiver.received.map(({ url }) => url).sort()).toEqual(['/here', '/self'])
  fixture.clock.advance(16_000)
  await until(() => sent() === 3)
})

test('while another process sends to a subscription, events do not cause a transaction of the outbox each', async () => {
  const id = fixture.plant(fixture.receiver.at('/elsewhere'))
  await testEvents(2)
  claim(id, 'elsewhere/1/x')
  await fixture.send()
  await testEvents(1)
  let syncs = 0
  const end = beforeTransaction(fixture.deps, (shopId) => {
    if (shopId === undefined) syncs++
  })
  const startedAt = performance.now()
  await testEvents(40)
  // One after each pause of 50 ms, however many events there are.
  const most = 2 + (performance.now() - startedAt) / 50
  end()
  expect(syncs).toBeLessThanOrEqual(most)
})

test('a delivery in flight is not sent again by its own process when the clock is set forward', async () => {
  fixture.plant(fixture.receiver.at('/slow/500'))
  await fixture.send({ pollMs: 20 })
  await fixture.test()
  await until(() => fixture.receiver.received.length === 1)
  fixture.clock.advance(60_000)
  await until(() => sent() === 1)
  expect(fixture.receiver.received).toHaveLength(1)
})

test('stop aborts deliveries and releases their claims; the next dispatcher sends them again', async () => {
  fixture.plant(fixture.receiver.at('/slow/300'))
  fixture.plant(fixture.receiver.at('/ok'))
  const sender = await fixture.send()
  await testEvents(1)
  await until(() => fixture.receiver.received.length === 2 && sent() === 1)
  await sender.stop()
  expect(waiting()).toBe(1)
  expect(claimed()).toBe(0)
  await fixture.send()
  await until(() => sent() === 2)
  expect(fixture.receiver.to('/slow/300')).toHaveLength(2)
})

test('drain sends pending deliveries and then stops', async () => {
  fixture.plant(fixture.receiver.at('/slow/20'))
  const sender = await fixture.send()
  await testEvents(40)
  await sender.drain(10_000)
  expect(sent()).toBe(40)
  await fixture.test()
  sender.wake()
  await new Promise((done) => setTimeout(done, 50))
  expect(waiting()).toBe(1)
})

test('drain times out when a receiver hangs, and keeps the remaining deliveries', async () => {
  fixture.plant(fixture.receiver.at('/hang'))
  fixture.plant(fixture.receiver.at('/ok'))
  const sender = await fixture.send()
  await testEvents(3)
  const startedAt = performance.now()
  await sender.drain(200)
  expect(performance.now() - startedAt).toBeLessThan(1000)
  expect([sent(), waiting()]).toEqual([3, 3])
})

test('claimed deliveries are dropped when their subscription is removed', async () => {
  const id = fixture.plant(fixture.receiver.at('/slow/300'))
  await testEvents(10)
  await fixture.send()
  await until(() => fixture.receiver.received.length === 2)
  expect((await fixture.request('DELETE', `/api/v1/webhooks?id=${id}`)).status).toBe(200)
  await new Promise((done) => setTimeout(done, 700))
  expect(fixture.receiver.received.length).toBeLessThanOrEqual(2)
  expect(fixture.deliveries()).toEqual([])
})

test('a temporary database failure loses no delivery', async () => {
  fixture.plant(fixture.receiver.at('/ok'))
  await fixture.send({ pollMs: 50 })
  const allowWrites = rejectWrites(fixture, 'update', 'deliveries')
  await testEvents(3)
  await until(() => fixture.logs.some((line) => line.includes('outbox_sync_failed')))
  allowWrites()
  await until(() => sent() === 3)
  expect(fixture.receiver.received).toHaveLength(3)
})

test('kill -9 while sending: everything arrives, and only in-flight deliveries arrive twice', async () => {
  for (let i = 0; i < 5; i++) fixture.plant(fixture.receiver.at(`/slow/${10 * i}`), { secret: 'x' })
  await testEvents(40)
  let mayRepeat = 0
  for (const stopAt of [20, 60, 110]) {
    const script = fileURLToPath(new URL('sender-process.ts', import.meta.url))
    const child = fork(script, [fixture.url, fixture.receiver.host], { stdio: 'inherit' })
    await until(() => fixture.receiver.received.length >= stopAt)
    child.kill('SIGKILL')
    await once(child, 'exit')
    mayRepeat += fixture.receiver.received.length - sent()
  }
  await fixture.send()
  await until(() => sent() === 200 && new Set(ids()).size === 200)
  expect(new Set(ids())).toEqual(new Set(fixture.deliveries().map(({ webhookId }) => webhookId)))
  expect(fixture.receiver.received.length - 200).toBeLessThanOrEqual(mayRepeat)
})
