import { afterAll, beforeAll, expect, test } from 'vitest'
import { keepHouse } from '../../server/src/services/housekeeping.ts'
import { type TestServer, testServer } from '../support/server.ts'
import { withAffiliate } from '../support/shop.ts'

const DAY = 86_400_000

let server: TestServer
beforeAll(async () => {
  server = await testServer({ config: { journeyRetentionDays: 7 } })
  await withAffiliate(server, { program: { cookieDurationDays: 30 } })
})
afterAll(() => server.close())

const count = (table: string) => server.sql.prepare(`select count(*) from "${table}"`).pluck().get()

test('replies are dropped after 30 days, clicks only when no program would still count them', async () => {
  const body = { type: 'click', ref: 'nisa-karim' }
  await server.request('POST', '/api/v1/events', { body, headers: { 'Idempotency-Key': 'old' } })
  server.clock.advance(30 * DAY - 1)
  await keepHouse(server.deps)
  expect([count('idempotencyKeys'), count('journey')]).toEqual([1, 1])
  server.clock.advance(2)
  await keepHouse(server.deps)
  expect([count('idempotencyKeys'), count('journey')]).toEqual([0, 0])
})
