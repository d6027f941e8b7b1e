import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { registerLeaseHolder, unregisterLeaseHolder } from '../../server/src/webhooks/delivery/lease.ts'
import { type Fixture, until, webhookFixture } from './fixture.ts'

let at: Fixture
beforeEach(async () => {
  at = await webhookFixture()
})
afterEach(() => at.close())

const ids = () => at.receiver.received.map(({ headers }) => headers['webhook-id'])
const sent = () => at.deliveries(`"status" = 'SENT'`).length
const waiting = () => at.deliveries(`"status" = 'PENDING'`).length
const testEvents = async (count: number) => {
  for (let i = 0; i < count; i++) await at.test()
}
const claim = (id: string, by: string) =>
  at.sql
    .prepare('update subscriptions set "claimedBy" = ?, "claimedAt" = ? where id = ?')
    .run(by, new Date(at.clock.ms).toISOString(), id)
const claimed = () => at.sql.prepare('select count(*) from subscriptions where "claimedBy" is not null').pluck().get()

test('what was recorded before a process began to send is sent by it', async () => {
  at.plant(at.receiver.at('/ok'), { secret: 'x' })
  await testEvents(3)
  await at.send()
  await until(() => sent() === 3)
  expect(new Set(ids()).size).toBe(3)
})

test('what nobody woke it for is found by the slow look', async () => {
  at.plant(at.receiver.at('/ok'))
  await at.send({ renewMs: 50 })
  at.deps.wakeDispatcher = () => {}
  await at.test()
  await until(() => sent() === 1)
})

test('four senders share an outbox, and nothing is sent twice', async () => {
  for (let i = 0; i < 10; i++) at.plant(at.receiver.at(`/ok/${i}`), { secret: 'x' })
  await testEvents(60)
  await Promise.all([at.send(), at.send(), at.send(), at.send()])
  await until(() => sent() === 600 && at.receiver.received.length >= 600)
  expect(at.receiver.received).toHaveLength(600)
  expect(new Set(ids()).size).toBe(600)
  await until(() => claimed() === 0)
})

test('a process that has ended is replaced at once, one of another machine when it has been silent for a while', async () => {
  const name = registerLeaseHolder()
  unregisterLeaseHolder(name)
  claim(at.plant(at.receiver.at('/here')), name.replace(`/${process.pid}/`, '/999999999/'))
  claim(at.plant(at.receiver.at('/self')), name)
  claim(at.plant(at.receiver.at('/elsewhere')), 'elsewhere/1/x')
  await at.test()
  await at.send()
  await until(() => sent() === 2)
  expect(at.receiver.received.map(({ url }) => url).sort()).toEqual(['/here', '/self'])
  at.clock.advance(16_000)
  await until(() => sent() === 3)
})

test('what another process has the right to send is sent soon after it has given that back', async () => {
  const id = at.plant(at.receiver.at('/ok'))
  claim(id, 'elsewhere/1/x')
  await at.send()
  await at.test()
  at.sql.prepare('update subscriptions set "claimedBy" = null where id = ?').run(id)
  await until(() => sent() === 1)
})

test('a living sender keeps its claims, however long they take', async () => {
  at.plant(at.receiver.at('/slow/1000'))
  await at.send({ renewMs: 20 })
  await at.test()
  await until(() => at.receiver.received.length === 1)
  await at.send({ renewMs: 20 })
  for (let i = 0; i < 6; i++) {
    at.clock.advance(10_000)
    await new Promise((done) => setTimeout(done, 100))
  }
  await until(() => sent() === 1)
  expect(at.receiver.received).toHaveLength(1)
})

test('stop breaks off and gives back; the next sender sends it again', async () => {
  at.plant(at.receiver.at('/slow/300'))
  at.plant(at.receiver.at('/ok'))
  const sender = await at.send()
  await testEvents(1)
  await until(() => at.receiver.received.length === 2 && sent() === 1)
  await sender.stop()
  expect(waiting()).toBe(1)
  expect(claimed()).toBe(0)
  await at.send()
  await until(() => sent() === 2)
  expect(at.receiver.to('/slow/300')).toHaveLength(2)
})

test('drain sends what waits and then stops', async () => {
  at.plant(at.receiver.at('/slow/20'))
  const sender = await at.send()
  await testEvents(40)
  await sender.drain(10_000)
  expect(sent()).toBe(40)
  await at.test()
  sender.wake()
  await new Promise((done) => setTimeout(done, 50))
  expect(waiting()).toBe(1)
})

test('drain gives up in time when a receiver hangs, and keeps what is left', async () => {
  at.plant(at.receiver.at('/hang'))
  at.plant(at.receiver.at('/ok'))
  const sender = await at.send()
  await testEvents(3)
  const startedAt = performance.now()
  await sender.drain(200)
  expect(performance.now() - startedAt).toBeLessThan(1000)
  expect([sent(), waiting()]).toEqual([3, 3])
})

test('what was taken but not sent yet is dropped when its subscription goes', async () => {
  const id = at.plant(at.receiver.at('/slow/300'))
  await testEvents(10)
  await at.send()
  await until(() => at.receiver.received.length === 2)
  expect((await at.request('DELETE', `/api/v1/webhooks?id=${id}`)).status).toBe(200)
  await new Promise((done) => setTimeout(done, 700))
  expect(at.receiver.received.length).toBeLessThanOrEqual(2)
  expect(at.deliveries()).toEqual([])
})

test('what waits for a subscription that is gone is forgotten', async () => {
  const id = at.plant(at.receiver.at('/ok'))
  await at.test()
  at.sql.prepare('delete from subscriptions where id = ?').run(id)
  await at.send()
  await until(() => at.deliveries().length === 0)
  expect(at.receiver.received).toEqual([])
})

test('a database that fails for a while costs no delivery', async () => {
  at.plant(at.receiver.at('/ok'))
  await at.send({ renewMs: 50 })
  at.sql.exec(`create trigger broken before update on deliveries begin select raise(abort, 'broken'); end`)
  await testEvents(3)
  await until(() => at.logs.some((line) => line.includes('outbox_not_exchanged')))
  at.sql.exec('drop trigger broken')
  await until(() => sent() === 3)
  expect(at.receiver.received).toHaveLength(3)
})

test('kill -9 while sending: everything arrives, and only what was under way arrives twice', async () => {
  for (let i = 0; i < 5; i++) at.plant(at.receiver.at(`/slow/${10 * i}`), { secret: 'x' })
  await testEvents(40)
  let mayRepeat = 0
  for (const stopAt of [20, 60, 110]) {
    const script = fileURLToPath(new URL('sender-process.ts', import.meta.url))
    const child = fork(script, [at.url, at.receiver.host], { stdio: 'inherit' })
    await until(() => at.receiver.received.length >= stopAt)
    child.kill('SIGKILL')
    await once(child, 'exit')
    mayRepeat += at.receiver.received.length - sent()
  }
  await at.send()
  await until(() => sent() === 200 && new Set(ids()).size === 200)
  expect(new Set(ids())).toEqual(new Set(at.deliveries().map(({ webhookId }) => webhookId)))
  expect(at.receiver.received.length - 200).toBeLessThanOrEqual(mayRepeat)
})
