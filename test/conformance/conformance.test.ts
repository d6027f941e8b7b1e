// Full: it waits for rate-limit windows and retries.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { emptyDatabase, engine } from '../support/database.ts'
import { checks, runConformance, toJUnit, toText } from './src/index.ts'
import { NOTHING, startThisServer, type ThisServer } from './this-server.ts'

let server: ThisServer
let database: Awaited<ReturnType<typeof emptyDatabase>> | undefined
beforeAll(async () => {
  database = engine === 'postgres' ? await emptyDatabase() : undefined
  server = await startThisServer(database?.url)
}, 60_000)
afterAll(async () => {
  await server?.close()
  await database?.remove()
})

test('follows every rule', async () => {
  const [shop, other] = [await server.shopOf('ENTERPRISE'), await server.shopOf('ENTERPRISE')]
  const report = await runConformance({
    baseUrl: server.url,
    ...shop,
    otherKey: other.key,
    changeSettings: true,
    receiver: { port: server.receiverPort },
    concurrency: 8,
  })
  expect(report.checks.filter(({ status }) => status !== 'passed')).toMatchObject([
    // A key of the plan may send 1,000 requests; the next test has a smaller plan.
    { name: 'key-limits/429-after-the-limit', status: 'skipped' },
  ])
  expect(toText(report)).toContain(`${checks.length} checks: ${checks.length - 1} passed, 0 failed, 1 skipped.`)
  expect(toJUnit(report).match(/<testcase /g)).toHaveLength(checks.length)
  expect([await server.noticed(shop), await server.noticed(other)]).toEqual([NOTHING, NOTHING])
  expect(report.remaining).toEqual([
    expect.stringMatching(
      /^The shop keeps \d+ programs, \d+ orders, \d+ customers, \d+ payout batches of this run \(cf-/,
    ),
    expect.stringMatching(/^The shop of REFERRAL_OTHER_API_KEY keeps 2 programs, 1 order of this run \(cf-/),
  ])
  expect(toText(report)).toContain(report.remaining[0])
  // A key has 1,000 requests a minute, and the run sends more than 4,000.
}, 600_000)

test('a run does not start in a shop without a program, because its first one would be the default', async () => {
  const [empty, other] = [await server.emptyShopOf('PROFESSIONAL'), await server.shopOf('PROFESSIONAL')]
  const only = ['isolation/']
  for (const [{ key }, otherKey, what] of [
    [empty, undefined, 'key'],
    [other, empty.key, 'key of the other shop'],
  ] as const)
    await expect(runConformance({ baseUrl: server.url, key, otherKey, only })).rejects.toThrow(
      `The shop of the ${what} has no program, and one of this run would become its default.`,
    )
  expect((await server.request(empty.key, 'GET', '/programs')).data).toEqual([])
})

test('limits a key as its plan says, in test shops that are gone afterwards', async () => {
  const shop = await server.shopOf('PROFESSIONAL')
  const only = ['key-limits/', 'limits/', 'isolation/lists', 'settings/tax', 'keys/created-with-secret']
  const report = await runConformance({ baseUrl: server.url, ...shop, useTestShops: true, only })
  expect(report.checks.filter(({ status }) => status !== 'passed')).toEqual([])
  const headers = { Authorization: `Bearer ${shop.ownerToken}` }
  expect(await (await fetch(`${server.url}/admin/v1/test-shops`, { headers })).json()).toEqual({ data: [] })
}, 60_000)
