import { expect } from 'vitest'
import { check } from '../../server/src/operator/check.ts'
import { checkAge, countOldRows, deleteOldRows, type OldRows } from '../../server/src/operator/old-rows.ts'
import { rejectWrites } from '../support/faults.ts'
import { countOf, insertRows, rowsOf, updateRows } from '../support/inspect.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { convert, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

const DAY = 86_400_000

/** An instant some days before the server's time. */
const daysAgo = ({ clock }: TestServer, days: number) => new Date(clock.ms - days * DAY).toISOString()
/** Checks that the dry run counts what is deleted. */
async function remove(server: TestServer, kind: OldRows, days = 100) {
  const selection = { kind, before: daysAgo(server, days) }
  await checkAge(server.deps, selection)
  const counted = await countOldRows(server.deps, selection)
  const deleted = await deleteOldRows(server.deps, selection)
  expect(deleted).toEqual(counted)
  return deleted
}
const isIntact = async (server: TestServer) =>
  expect(await check(server.deps)).toMatchObject({ ok: true, problems: [] })

const orderOf = (name: string, more: object = {}) => ({ externalOrderId: name, amountCents: 1000, ...more })
const report = (server: TestServer, name: string, more: object = {}) =>
  server.request('POST', '/api/v1/events', {
    body: { type: 'conversion', currency: 'USD', ...orderOf(name, more) },
    headers: { 'Idempotency-Key': name },
  })

/** A shop with a credited and an uncredited order and a click a year ago, and the same today. */
async function twoYears(): Promise<TestServer> {
  const server = await testServer()
  await withAffiliate(server)
  for (const year of ['old', 'new']) {
    await server.request('POST', '/api/v1/events', {
      body: { type: 'click', ref: 'nisa-karim', clickId: `${year}-click` },
    })
    expect((await report(server, `${year}-credited`, { couponCode: 'NISA16' })).status).toBe(201)
    expect((await report(server, `${year}-uncredited`)).status).toBe(201)
    if (year === 'old') server.clock.advance(365 * DAY)
  }
  return server
}

test('orders without a commission are deleted; the others keep their facts', async () => {
  const server = await twoYears()
  expect(await remove(server, 'orders')).toEqual({ journey: 1, orders: 1 })
  expect(rowsOf(server, 'orders').map(({ orderId }) => orderId)).toEqual([
    'api:new-credited',
    'api:new-uncredited',
    'api:old-credited',
  ])
  await isIntact(server)
  // Reported again, it is decided like a new order.
  const again = await server.request('POST', '/api/v1/events', {
    body: { type: 'conversion', currency: 'USD', ...orderOf('old-uncredited', { couponCode: 'NISA16' }) },
    headers: { 'Idempotency-Key': 'another key' },
  })
  expect([again.status, again.body.commission.amountCents]).toEqual([201, 160])
  const path = '/admin/v1/orders/old-credited/explanation'
  const explanation = await server.request('GET', path, { key: server.shop.ownerToken })
  expect(explanation.body.data.replay.identical).toBe(true)
  await server.close()
})

test('a retry whose stored response was deleted creates no second commission', async () => {
  const server = await twoYears()
  const before = countOf(server, 'commissions')
  expect(await remove(server, 'responses')).toEqual({ idempotencyKeys: 2 })
  expect(rowsOf(server, 'idempotencyKeys').map(({ key }) => key)).toEqual(['new-credited', 'new-uncredited'])
  const retry = await report(server, 'old-credited', { couponCode: 'NISA16' })
  expect([retry.status, retry.headers.get('X-Order-Already-Recorded')]).toEqual([201, 'true'])
  expect(countOf(server, 'commissions')).toBe(before)
  await isIntact(server)
  await server.close()
})

test('clicks and finished deliveries are deleted, pending ones are kept', async () => {
  const server = await testServer()
  await server.request('POST', '/api/v1/webhooks', { body: { url: 'https://example.com/hook' } })
  await withAffiliate(server)
  await server.request('POST', '/api/v1/events', { body: { type: 'click', ref: 'nisa-karim' } })
  await convert(server, { externalOrderId: '1', amountCents: 100, couponCode: 'NISA16' })
  const [first, ...pending] = rowsOf(server, 'deliveries')
  const sent = { status: 'SENT', code: 'ok', finishedAt: daysAgo(server, 0) } as const
  updateRows(server, 'deliveries', sent, { id: first!.id })
  server.clock.advance(200 * DAY)
  await convert(server, { externalOrderId: '2', amountCents: 100, couponCode: 'NISA16' })
  expect(await remove(server, 'deliveries')).toEqual({ deliveries: 1, webhookEvents: 1 })
  expect(rowsOf(server, 'webhookEvents').map(({ id }) => id)).not.toContain(first!.eventId)
  expect(rowsOf(server, 'deliveries')).toEqual(expect.arrayContaining(pending))
  expect(await remove(server, 'journey')).toEqual({ journey: 2 })
  expect(countOf(server, 'journey')).toBe(1)
  await isIntact(server)
  await server.close()
})

test('rows that are still needed are rejected', async () => {
  const server = await testServer()
  await withAffiliate(server, { program: { cookieDurationDays: 120 } })
  await expect(remove(server, 'journey', 119)).rejects.toThrow('at least 120 days ago for journey')
  await expect(remove(server, 'orders', 29)).rejects.toThrow('at least 30 days ago')
  await server.close()
})

test('a run deletes what an interrupted one left, in more than one step', async () => {
  const server = await twoYears()
  const [old] = rowsOf(server, 'idempotencyKeys', { key: 'old-credited' })
  const more = Array.from({ length: 450 }, (_, n) => ({ ...old!, key: `more-${String(n).padStart(3, '0')}` }))
  insertRows(server, 'idempotencyKeys', more)
  const allowWrites = rejectWrites(server, 'delete', 'idempotencyKeys')
  await expect(remove(server, 'responses')).rejects.toThrow()
  expect(countOf(server, 'idempotencyKeys')).toBe(454)
  allowWrites()
  expect(await remove(server, 'responses')).toEqual({ idempotencyKeys: 452 })
  await server.close()
})

test('an event is kept while a delivery of it waits for its next attempt', async () => {
  const server = await testServer()
  await server.request('POST', '/api/v1/webhooks', {
    body: { url: 'https://example.com/hook', retryPolicy: 'standard' },
  })
  await withAffiliate(server)
  await convert(server, { externalOrderId: '1', amountCents: 100, couponCode: 'NISA16' })
  const { shopId } = server.shop
  const nextAttemptAt = daysAgo(server, -1)
  updateRows(server, 'deliveries', { status: 'RETRYING', code: 'timeout', attempts: 1, nextAttemptAt }, { shopId })
  const events = countOf(server, 'webhookEvents')
  server.clock.advance(2 * DAY)
  expect(await remove(server, 'deliveries', 1)).toEqual({ deliveries: 0, webhookEvents: 0 })
  expect([countOf(server, 'webhookEvents'), countOf(server, 'deliveries')]).toEqual([events, events])
  await server.close()
})
