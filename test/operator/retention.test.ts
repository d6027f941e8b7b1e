import { expect } from 'vitest'
import { nowIso } from '../../server/src/core/context.ts'
import { check } from '../../server/src/operator/check.ts'
import { purgeExpired } from '../../server/src/operator/retention.ts'
import { recordResults } from '../../server/src/webhooks/delivery-queries.ts'
import { countOf } from '../support/inspect.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'
import { test as baseTest } from '../support/test.ts'

const test = baseTest.extend('options', { scope: 'file' }, { config: { journeyRetentionDays: 7 } })

const DAY = 86_400_000

test.beforeAll(async ({ server }) => {
  await withAffiliate(server, { program: { cookieDurationDays: 30 } })
})

test('stored responses are deleted after 30 days, clicks only when no program would still count them', async ({
  server,
}) => {
  const body = { type: 'click', ref: 'nisa-karim' }
  await server.request('POST', '/api/v1/events', { body, headers: { 'Idempotency-Key': 'old' } })
  server.clock.advance(30 * DAY - 1)
  await purgeExpired(server.deps)
  expect([countOf(server, 'idempotencyKeys'), countOf(server, 'journey')]).toEqual([1, 1])
  server.clock.advance(2)
  await purgeExpired(server.deps)
  expect([countOf(server, 'idempotencyKeys'), countOf(server, 'journey')]).toEqual([0, 0])
})

test('deliveries are deleted 30 days after they ended, and events without a delivery; pending deliveries are kept', async () => {
  const server = await testServer()
  // Ids contain the real creation time, which advances.
  server.clock.advance(Date.now() + 60_000 - server.clock.ms)
  await server.request('POST', '/api/v1/webhooks', { body: { url: 'https://example.com/hook', secret: 'shh' } })
  await withAffiliate(server)
  server.sql.exec('delete from deliveries')
  server.sql.exec('delete from "webhookEvents"')
  const names = ['ended', 'again', 'waits']
  for (const name of names) await convert(server, { externalOrderId: name, amountCents: 100, couponCode: 'NISA16' })
  const owner = { key: server.shop.ownerToken }
  const [waits, again, ended] = (await server.request('GET', '/admin/v1/deliveries', owner)).body.data
  const end = (id: string) =>
    server.db.transact((trx) => {
      const how = { status: 'FAILED', code: 'timeout', httpStatus: null, durationMs: 1 } as const
      return recordResults(trx, [{ shopId: server.shop.shopId, id, ...how, finishedAt: nowIso(server.deps) }])
    })
  const left = () => [
    server.sql.prepare('select id from deliveries order by id').pluck().all(),
    server.sql.prepare('select id from "webhookEvents" order by id').pluck().all(),
  ]
  const keep = async () => {
    await purgeExpired(server.deps)
    expect(await check(server.deps)).toMatchObject({ ok: true, problems: [] })
    return left()
  }
  await end(ended.id)
  await end(again.id)
  const all = left()
  server.clock.advance(30 * DAY)
  expect(await keep()).toEqual(all)
  const { id } = await expectOk(server.request('POST', `/admin/v1/deliveries/${again.id}/redeliver`, owner))
  server.clock.advance(1)
  expect(await keep()).toEqual([[waits.id, id], all[1]])
  server.clock.advance(DAY)
  expect(await keep()).toEqual([
    [waits.id, id],
    [again.eventId, waits.eventId],
  ])
  await end(id)
  server.clock.advance(30 * DAY + 1)
  await keep()
  expect(await keep()).toEqual([[waits.id], [waits.eventId]])
  await server.close()
})

test('deliveries of an expired stream are deleted with it', async () => {
  const server = await testServer()
  const stream = await server.app.request('http://test/admin/v1/deliveries/stream', {
    headers: { Authorization: `Bearer ${server.shop.ownerToken}` },
  })
  await withAffiliate(server)
  await convert(server, { externalOrderId: '1', amountCents: 100, couponCode: 'NISA16' })
  await stream.body?.cancel()
  const rows = () => ['streams', 'streamDeliveries'].map((table) => countOf(server, table))
  await purgeExpired(server.deps)
  expect(rows()).toEqual([1, 3])
  server.clock.advance(2 * 3_600_000)
  await purgeExpired(server.deps)
  expect(rows()).toEqual([0, 0])
  await server.close()
})

/** Replies that have had their time, more than two lots of them. */
function fillWithReplies(server: TestServer): void {
  server.sql.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1200)
    insert into "idempotencyKeys" ("shopId", key, fingerprint, result, "expiresAt", "createdAt")
    select 'shp_1', 'k' || i, 'x', 'x', '2020-01-01', '2020-01-01' from n`)
}

test('a server that is stopping does not wait for the remaining deletions', async () => {
  const server = await testServer()
  fillWithReplies(server)
  const stop = new AbortController()
  const { transact } = server.db
  let transactions = 0
  const db: typeof server.db = {
    ...server.db,
    transact: (work, shopId) => {
      transactions++
      stop.abort()
      return transact(work, shopId)
    },
  }
  await purgeExpired({ ...server.deps, db, stopping: stop.signal })
  expect(transactions).toBe(1)
  expect(Number(server.sql.prepare('select count(*) from "idempotencyKeys"').pluck().get())).toBe(700)
  await server.close()
})

test('a failed deletion does not prevent the others', async () => {
  const server = await testServer({ config: { journeyRetentionDays: 7 } })
  await withAffiliate(server)
  await server.request('POST', '/api/v1/events', { body: { type: 'click', ref: 'nisa-karim' } })
  const [journey, deliveries] = ['journey', 'deliveries'].map((table) =>
    server.sql.prepare(`select count(*) from "${table}"`).pluck(),
  )
  expect(journey?.get()).toBe(1)
  fillWithReplies(server)
  server.sql.exec(`create trigger stuck after delete on "idempotencyKeys" begin select raise(abort, 'stuck'); end`)
  server.clock.advance(400 * DAY)
  await purgeExpired(server.deps)
  expect([journey?.get(), deliveries?.get()]).toEqual([0, 0])
  expect(server.sql.prepare('select count(*) from "idempotencyKeys"').pluck().get()).toBe(1200)
  await server.close()
})

test('events that are kept do not hide later ones', async () => {
  const server = await testServer()
  const old = (prefix: string) => `'${prefix}_00000000000000000000' || (100000 + i)`
  const numbers = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 1100)'
  server.sql.exec(`${numbers} insert into "webhookEvents" (id, "shopId", event, body, "createdAt")
    select ${old('evt')}, '${server.shop.shopId}', 'x', '{}', '2020-01-01' from n`)
  server.sql.exec(`${numbers} insert into deliveries (id, "shopId", "eventId", "subscriptionId", "webhookId", status, "createdAt")
    select ${old('dlv')}, '${server.shop.shopId}', ${old('evt')}, 'whs_1', 'x', 'PENDING', '2020-01-01' from n where i <= 600`)
  await purgeExpired(server.deps)
  const counts = ['webhookEvents', 'deliveries'].map((table) =>
    Number(server.sql.prepare(`select count(*) from "${table}"`).pluck().get()),
  )
  expect(counts).toEqual([600, 600])
  await server.close()
})
