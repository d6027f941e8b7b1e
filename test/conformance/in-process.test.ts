import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type TestServer, testServer } from '../support/server.ts'
import { expectOk } from '../support/shop.ts'
import { type CheckResult, checks, runConformance } from './src/index.ts'

/** Rules that wait for a webhook or for the clock: `conformance.test.ts` tests them with a server process. */
const WAITING = /^(keys\/expired|limits|key-limits|deliveries|owner-deliveries|owner-schema\/redeliver$)/
const selected = checks.filter(({ name }) => !WAITING.test(name))

let server: TestServer
let results: Map<string, CheckResult>
beforeAll(async () => {
  server = await testServer()
  const [shop, other] = [await server.createShop('ENTERPRISE'), await server.createShop('ENTERPRISE')]
  for (const { key } of [shop, other])
    await expectOk(server.request('POST', '/api/v1/programs', { key, body: { name: 'Friends' } }))
  // The suite and the server read the same clock, which stands still.
  vi.useFakeTimers({ toFake: ['Date'], now: server.clock.ms })
  const report = await runConformance({
    baseUrl: 'http://test',
    ...shop,
    otherKey: other.key,
    only: selected.map(({ name }) => name),
    changeSettings: true,
    fetch: async (url, init) => server.app.request(url.href, init),
  }).finally(() => vi.useRealTimers())
  results = new Map(report.checks.map((check) => [check.name, check]))
}, 900_000)
afterAll(() => server?.close())

test.each(selected)('$name: $rule', ({ name }) => {
  expect(results.get(name)).toMatchObject({ status: 'passed', message: null })
})
