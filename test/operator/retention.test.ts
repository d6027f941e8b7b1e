import { expect } from 'vitest'
import { nowIso } from '../../server/src/core/context.ts'
import { check } from '../../server/src/operator/check.ts'
import { purgeExpired } from '../../server/src/operator/retention.ts'
import { beforeTransaction, rejectWrites } from '../support/faults.ts'
import { countOf, deleteRows, insertRows, rowsOf, updateRows } from '../support/inspect.ts'
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
  deleteRows(server, 'deliveries')
  deleteRows(server, 'webhookEvents')
  const names = ['ended', 'again', 'waits']
  for (const name of names) await convert(server, { externalOrderId: name, amountCents: 100, couponCode: 'NISA16' })
  const owner = { key: server.shop.ownerToken }
  const [waits, again, ended] = (await server.request('GET', '/admin/v1/deliveries', owner)).body.data
  const end = (id: string) => {
    const result = { status: 'FAILED', code: 'timeout', durationMs: 1, finishedAt: nowIso(server.deps) } as const
    updateRows(server, 'deliveries', result, { id })
  }
  const left = () => [
    rowsOf(server, 'deliveries').map(({ id }) => id),
    rowsOf(server, 'webhookEvents').map(({ id }) => id),
  ]
  const keep = async () => {
    await purgeExpired(server.deps)
    expect(await check(server.deps)).toMatchObject({ ok: true, problems: [] })
    return left()
  }
  end(ended.id)
  end(again.id)
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
  end(id)
  server.clock.advance(30 * DAY + 1)
  await keep()
  expect(await keep()).toEqual([[waits.id], [waits.eventId]])
  await server.close()
})

const LONG_AGO = '2020-01-01'

/** Expired responses, more than two batches of deletions. */
function fillWithResponses(server: TestServer): void {
  const row = { shopId: 'shp_1', fingerprint: 'x', result: 'x', expiresAt: LONG_AGO, createdAt: LONG_AGO }
  const rows = Array.from({ length: 1200 }, (_, i) => ({ ...row, key: `k${i}` }))
  insertRows(server, 'idempotencyKeys', rows)
}

test('a server that is stopping does not wait for the remaining deletions', async () => {
  const server = await testServer()
  fillWithResponses(server)
  const stop = new AbortController()
  let transactions = 0
  beforeTransaction(server, () => {
    transactions++
    stop.abort()
  })
  await purgeExpired({ ...server.deps, stopping: stop.signal })
  expect(transactions).toBe(1)
  expect(countOf(server, 'idempotencyKeys')).toBe(700)
  await server.close()
})

test('a failed deletion does not prevent the others', async () => {
  const server = await testServer({ config: { journeyRetentionDays: 7 } })
  await withAffiliate(server)
  await server.request('POST', '/api/v1/events', { body: { type: 'click', ref: 'nisa-karim' } })
  expect(countOf(server, 'journey')).toBe(1)
  fillWithResponses(server)
  rejectWrites(server, 'delete', 'idempotencyKeys')
  server.clock.advance(400 * DAY)
  await purgeExpired(server.deps)
  expect([countOf(server, 'journey'), countOf(server, 'deliveries')]).toEqual([0, 0])
  expect(countOf(server, 'idempotencyKeys')).toBe(1200)
  await server.close()
})

test('events that are kept do not hide later ones', async () => {
  const server = await testServer()
  const { shopId } = server.shop
  const old = (prefix: string, i: number) => `${prefix}_00000000000000000000${100_001 + i}`
  const event = { shopId, event: 'x', body: '{}', createdAt: LONG_AGO }
  const pending = { webhookId: 'x', status: 'PENDING', attempts: 0, createdAt: LONG_AGO } as const
  const delivery = { shopId, subscriptionId: 'whs_1', ...pending }
  const numbers = Array.from({ length: 1100 }, (_, i) => i)
  const events = numbers.map((i) => ({ ...event, id: old('evt', i) }))
  const deliveries = numbers.slice(0, 600).map((i) => ({ ...delivery, id: old('dlv', i), eventId: old('evt', i) }))
  insertRows(server, 'webhookEvents', events)
  insertRows(server, 'deliveries', deliveries)
  await purgeExpired(server.deps)
  expect([countOf(server, 'webhookEvents'), countOf(server, 'deliveries')]).toEqual([600, 600])
  await server.close()
})

test('refunds and cancellations expire only while their order is unknown, and only when it is set', async () => {
  const server = await testServer({ config: { pendingRefundRetentionDays: 30 } })
  await withAffiliate(server)
  const refund = (externalOrderId: string, at = server) =>
    expectOk(
      at.request('POST', '/api/v1/refunds', { body: { externalOrderId, externalRefundId: 'r', amountCents: 100 } }),
    )
  // More orders than are read at once.
  for (let i = 0; i < 210; i++) await refund(`old-${i}`)
  await expectOk(server.request('POST', '/api/v1/cancellations', { body: { externalOrderId: 'old-canceled' } }))
  await convert(server, { externalOrderId: 'nobody', amountCents: 1000 })
  await refund('nobody')
  server.clock.advance(DAY)
  await refund('late')
  const kept = async (days: number) => {
    server.clock.advance(days * DAY)
    await purgeExpired(server.deps)
    return [...new Set(rowsOf(server, 'orderNotices').map(({ orderId }) => orderId.replace(/\d+$/, '')))].sort()
  }
  const all = ['api:late', 'api:nobody', 'api:old-', 'api:old-canceled']
  expect(await kept(29 - 1 / DAY)).toEqual(all)
  expect(await kept(2 / DAY)).toEqual(['api:late', 'api:nobody'])
  expect(await kept(1)).toEqual(['api:nobody'])
  // The refund of the order that was reported without an affiliate still counts once it is credited.
  await convert(server, { externalOrderId: 'nobody', amountCents: 1000, couponCode: 'NISA16' })
  const [row] = (await server.client.commissions.list({ externalOrderId: 'nobody' })).data
  expect(row?.commissionAmountCents).toBe(144)
  await server.close()
  const other = await testServer()
  await refund('old', other)
  other.clock.advance(36_500 * DAY)
  await purgeExpired(other.deps)
  expect(countOf(other, 'orderNotices')).toBe(1)
  await other.close()
})
