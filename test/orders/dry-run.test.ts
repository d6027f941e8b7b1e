import { expect } from 'vitest'
import { snapshot } from '../contract/fixture.ts'
import { subscribe } from '../support/inspect.ts'
import { withAffiliate } from '../support/shop.ts'
import { test } from '../support/test.ts'

test('a dry run writes nothing, whoever is credited, even with a key', async ({ server, client }) => {
  await withAffiliate(server)
  subscribe(server)
  const before = snapshot(server)
  const order = { externalOrderId: 'dry', amountCents: 10_000, couponCode: 'NISA16' }
  const nobody = await client.events.dryRun({ externalOrderId: 'n', amountCents: 1 })
  expect([nobody.attribution.reasonCode, nobody.trace.candidates]).toEqual(['NO_EVIDENCE', []])
  const restricted = await client.events.dryRun({ ...order, amountCents: 0 })
  expect(restricted.commission.restrictionReasonCode).toBe('ZERO_BASE')
  const headers = { 'Idempotency-Key': 'dry-key' }
  const reply = await server.request('POST', '/api/v1/events?dryRun=1', { body: order, headers })
  expect([reply.status, reply.body.trace.engineVersion, reply.body.commission.status]).toEqual([
    200,
    expect.any(String),
    'APPROVED',
  ])
  expect(snapshot(server)).toBe(before)
})
