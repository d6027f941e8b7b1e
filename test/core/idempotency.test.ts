import { expect } from 'vitest'
import { countOf, rowsOf } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { convert, withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

test.beforeAll(async ({ server }) => {
  await withAffiliate(server)
})

const order = (externalOrderId: string) => ({
  externalOrderId,
  amountCents: 10_000,
  discountCents: 1000,
  couponCode: 'NISA16',
})
const create = (server: TestServer, body: object, headers: Record<string, string> = {}, key?: string) =>
  server.request('POST', '/api/v1/programs', { body, headers, key })

test('the same key and body return the first response, byte-identical', async ({ server }) => {
  const first = await convert(server, order('r1'), { idempotencyKey: 'k1' })
  const again = await convert(server, order('r1'), { idempotencyKey: 'k1' })
  expect([first.status, again.status]).toEqual([201, 201])
  expect(JSON.stringify(again.body)).toBe(JSON.stringify(first.body))
  expect([first.headers.get('Idempotent-Replayed'), again.headers.get('Idempotent-Replayed')]).toEqual([null, 'true'])
  expect(countOf(server, 'commissions', { orderId: 'api:r1' })).toBe(1)
})

test('property order and whitespace of the body do not matter', async ({ server }) => {
  await server.request('POST', '/api/v1/events', {
    raw: '{"externalOrderId":"r2","amountCents":100}',
    headers: { 'Idempotency-Key': 'k2' },
  })
  const again = await server.request('POST', '/api/v1/events', {
    raw: '{ "amountCents" : 1e2,\n"externalOrderId":"r2" }',
    headers: { 'Idempotency-Key': 'k2' },
  })
  expect([again.status, again.headers.get('Idempotent-Replayed')]).toEqual([201, 'true'])
})

test('unknown properties are part of the body, even of a large one', async ({ server }) => {
  const headers = { 'Idempotency-Key': 'k-unknown' }
  const lineItems = Array.from({ length: 1000 }, (_, i) => ({
    priceCents: 1,
    color: `${i}`.padEnd(80),
    size: [i, { eu: 1 }],
  }))
  const body = { externalOrderId: 'r-unknown', lineItems }
  const first = await server.request('POST', '/api/v1/events', { body, headers })
  const turned = lineItems.map(({ priceCents, color, size }) => ({ size, color, priceCents }))
  const raw = JSON.stringify({ lineItems: turned, externalOrderId: 'r-unknown' }, null, 2)
  const again = await server.request('POST', '/api/v1/events', { raw, headers })
  expect([first.status, again.status, again.headers.get('Idempotent-Replayed')]).toEqual([201, 201, 'true'])
  lineItems[999]!.size = [999, { eu: 2 }]
  expect((await server.request('POST', '/api/v1/events', { body, headers })).status).toBe(409)
})

test('409 for another body, and nothing is written', async ({ server }) => {
  await convert(server, order('r3'), { idempotencyKey: 'k3' })
  const before = countOf(server, 'audits')
  const reply = await convert(server, order('r3b'), { idempotencyKey: 'k3' })
  expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([409, 'idempotency_key_reused'])
  expect(countOf(server, 'audits')).toBe(before)
})

test('409 for the same key at another path', async ({ server }) => {
  await create(server, { name: 'P' }, { 'Idempotency-Key': 'k4' })
  const reply = await server.request('POST', '/api/v1/affiliates', {
    body: { name: 'P', email: 'p@example.com' },
    headers: { 'Idempotency-Key': 'k4' },
  })
  expect(reply.status).toBe(409)
})

test('an error is not stored: the corrected call succeeds with the same key', async ({ server }) => {
  const wrong = await convert(server, { ...order('r5'), amountCents: -1 }, { idempotencyKey: 'k5' })
  const right = await convert(server, order('r5'), { idempotencyKey: 'k5' })
  expect([wrong.status, right.status, right.headers.get('Idempotent-Replayed')]).toEqual([400, 201, null])
})

test('every POST accepts a key: 32 parallel calls create one program and 31 replays', async ({ server }) => {
  const before = countOf(server, 'programs')
  const replies = await Promise.all(
    Array.from({ length: 32 }, () => create(server, { name: 'Parallel' }, { 'Idempotency-Key': 'k6' })),
  )
  expect(new Set(replies.map((reply) => reply.body.data.id)).size).toBe(1)
  expect(replies.filter((reply) => reply.headers.get('Idempotent-Replayed') === 'true')).toHaveLength(31)
  expect(countOf(server, 'programs')).toBe(before + 1)
})

test('a key belongs to its shop', async ({ server }) => {
  const other = await server.createShop()
  const mine = await create(server, { name: 'Same' }, { 'Idempotency-Key': 'k7' })
  const theirs = await create(server, { name: 'Same' }, { 'Idempotency-Key': 'k7' }, other.key)
  expect(theirs.headers.get('Idempotent-Replayed')).toBeNull()
  expect(theirs.body.data.id).not.toBe(mine.body.data.id)
})

test('the key of a conversion is kept permanently, others for 30 days', async ({ server }) => {
  const headers = { 'Idempotency-Key': 'k8' }
  await create(server, { name: 'Eight' }, headers)
  await convert(server, order('r8'), { idempotencyKey: 'k8c' })
  server.clock.advance(30 * 86_400_000 - 1)
  expect((await create(server, { name: 'Eight' }, headers)).headers.get('Idempotent-Replayed')).toBe('true')
  server.clock.advance(1)
  const afresh = await create(server, { name: 'Eight' }, headers)
  expect([afresh.status, afresh.headers.get('Idempotent-Replayed')]).toEqual([201, null])
  expect((await convert(server, order('r8'), { idempotencyKey: 'k8c' })).headers.get('Idempotent-Replayed')).toBe(
    'true',
  )
})

test('a replay succeeds even when the resource it changed is removed', async ({ server }) => {
  const { affiliate } = await withAffiliate(server, { code: 'GNE1' })
  const assign = () =>
    server.request('POST', '/api/v1/coupons', {
      body: { affiliateId: affiliate.id, code: 'GNE2' },
      headers: { 'Idempotency-Key': 'gone' },
    })
  const first = await assign()
  await server.request('DELETE', `/api/v1/affiliates?id=${affiliate.id}`)
  const again = await assign()
  expect([again.status, again.body]).toEqual([200, first.body])
})

test('neither the key table nor the log contains the body', async ({ server }) => {
  await convert(server, { ...order('r9'), customerEmail: 'canary@example.com' }, { idempotencyKey: 'k9' })
  const rows = JSON.stringify(rowsOf(server, 'idempotencyKeys'))
  expect(rows + server.logs.join('')).not.toContain('canary@example.com')
})

test('201 with the recorded decision for a repeated order with a new key, even in parallel', async ({ server }) => {
  const replies = await Promise.all(
    Array.from({ length: 32 }, (_, i) => convert(server, order('r10'), { idempotencyKey: `r10-${i}` })),
  )
  expect(new Set(replies.map((reply) => JSON.stringify(reply.body))).size).toBe(1)
  expect(replies.filter((reply) => reply.headers.get('X-Order-Already-Recorded') === 'true')).toHaveLength(31)
  expect(countOf(server, 'commissions', { orderId: 'api:r10' })).toBe(1)
  const subjectId = replies[0]?.body.commission.id
  expect(countOf(server, 'audits', { action: 'commission.created', subjectId })).toBe(1)
})
