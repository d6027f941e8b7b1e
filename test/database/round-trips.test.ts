// PostgreSQL only: SQLite has no round trips.
import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { findWaiting } from '../../server/src/domains/webhooks/claim-queries.ts'
import { insertRows } from '../support/inspect.ts'
import { signIn } from '../support/owner.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, expectOk, withAffiliate } from '../support/shop.ts'

let server: TestServer
beforeAll(async () => {
  server = await testServer()
  await withAffiliate(server)
})
afterAll(() => server.close())

/** The round trips of the transaction that `work` causes: statements sent without waiting for a result share one. */
async function roundTripsOf(work: () => Promise<unknown>): Promise<number> {
  let trips = 0
  let isAnswered = true
  let writer: unknown
  const { query } = pg.Client.prototype
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: unknown[]) {
    if (String(args[0]).startsWith('begin')) writer = this
    const sent = (query as (...all: unknown[]) => unknown).apply(this, args) as Promise<unknown>
    if (this !== writer) return sent as never
    if (isAnswered) trips++
    isAnswered = false
    const answered = () => {
      isAnswered = true
    }
    sent.then(answered, answered)
    return sent as never
  })
  await work()
  spy.mockRestore()
  return trips
}

const CLICK = { type: 'click', ref: 'nisa-karim' }
let count = 0
const order = (body: object) => () =>
  expectOk(convert(server, { externalOrderId: `trips-${++count}`, amountCents: 1000, ...body }))

test('an order takes three round trips, and one of a click four', async () => {
  await order({ couponCode: 'NISA16' })()
  expect(await roundTripsOf(order({ couponCode: 'NISA16', customerEmail: 'buyer@example.com' }))).toBe(3)
  expect(await roundTripsOf(order({ customerEmail: 'other@example.com' }))).toBe(3)
  const { id: clickId } = await expectOk(server.request('POST', '/api/v1/events', { body: CLICK }))
  expect(await roundTripsOf(order({ clickId }))).toBe(4)
})

test('an alias and an unknown name take as many round trips as a code', async () => {
  const [{ id: affiliateId, slug }] = await expectOk(server.request('GET', '/api/v1/affiliates'))
  for (const [kind, value] of [
    ['CODE', 'SARAH10'],
    ['LINK', 'sarah_old'],
  ])
    await expectOk(server.request('POST', '/api/v1/affiliates/aliases', { body: { affiliateId, kind, value } }))
  const trips = []
  for (const evidence of [
    { couponCode: slug },
    { couponCode: 'SARAH10' },
    { ref: affiliateId },
    { ref: 'sarah_old' },
    { couponCode: 'SUMMER' },
    { ref: 'nobody' },
  ]) {
    await order(evidence)()
    trips.push(await roundTripsOf(order(evidence)))
  }
  expect(trips).toEqual([3, 3, 3, 3, 3, 3])
})

test('the audit record of a page takes two round trips, with the check of the session', async () => {
  const { headers } = await signIn(server)
  const open = () => server.fetch('http://test/admin/settings', { headers })
  expect((await open()).status).toBe(200)
  expect(await roundTripsOf(open)).toBe(2)
})

test('the look-up of pending deliveries, planned on an empty table, does not read it whole when it has grown', async () => {
  const { db, url, shop } = server
  const observer = new pg.Client(url)
  await observer.connect()
  await observer.query('vacuum analyze deliveries')
  const lookUp = () => db.transact((trx) => findWaiting(trx, { after: '', limit: 10, now: '2026-10-01T00:00:00.000Z' }))
  await lookUp()
  const deliveries = Array.from({ length: 2000 }, (_, n) => ({
    id: `dlv_${n}`,
    shopId: shop.shopId,
    eventId: `evt_${n}`,
    subscriptionId: 'whs_1',
    webhookId: `dlv_${n}`,
    status: 'SENT' as const,
    attempts: 1,
    createdAt: '2026-10-01T00:00:00.000Z',
  }))
  insertRows(server, 'deliveries', deliveries)
  for (let n = 0; n < 10; n++) await lookUp()
  // Sessions report what they have read when they end.
  await observer.query(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and state = 'idle'`)
  const { rows } = await observer.query(
    `select seq_tup_read::int as read from pg_stat_user_tables where relname = 'deliveries'`,
  )
  await observer.end()
  expect(rows[0].read).toBeLessThan(deliveries.length)
})
