import { expect } from 'vitest'
import { removeTable } from '../support/faults.ts'
import { countOf, rowOf } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'
import { withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

let nisa: { slug: string }
test.beforeAll(async ({ server }) => {
  nisa = (await withAffiliate(server, { code: 'NISA' })).affiliate
})

const post = (server: TestServer, body: object) => server.request('POST', '/api/v1/events', { body })

test('a touch writes no audit record, no event and no order', async ({ server, client }) => {
  const counts = () =>
    (['audits', 'webhookEvents', 'orders', 'commissions'] as const).map((table) => countOf(server, table))
  const before = counts()
  await client.events.click({ ref: nisa.slug })
  await client.events.pageView({ url: 'https://shop.example/' })
  expect(counts()).toEqual(before)
})

test('unknown properties, and those of an order, are tolerated and not stored', async ({ server }) => {
  const more = { ip: '192.0.2.1', userAgent: 'Mozilla/5.0', amountCents: -5, externalOrderId: 'x' }
  const { status, body } = await post(server, { type: 'click', ref: nisa.slug, ...more })
  const stored = rowOf(server, 'journey', { id: body.id })
  expect(status).toBe(202)
  expect(stored.externalOrderId).toBeNull()
  expect(JSON.stringify(stored)).not.toMatch(/192\.0\.2\.1|Mozilla/)
})

test.for([
  ['affiliates', 'the look-up of the affiliate'],
  ['journey', 'storing the touch'],
] as const)('503 when the table %s fails (%s), without details in the response', async ([table], { server }) => {
  const restore = removeTable(server, table)
  const reply = await post(server, { type: 'click', ref: 'canary-ref', customerEmail: 'canary@example.com' })
  restore()
  expect([reply.status, reply.headers.get('X-Error-Code')]).toEqual([503, 'storage_unavailable'])
  expect(JSON.stringify(reply.body)).not.toContain('canary')
  expect((await post(server, { type: 'click', ref: nisa.slug })).status).toBe(202)
})
