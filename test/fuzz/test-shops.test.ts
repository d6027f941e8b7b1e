// Full: it sends generated requests to every operation.
// SQLite only: reading every row after each call takes too long on PostgreSQL; test/long covers both.
import { expect, test } from 'vitest'
import { foreignTo, trespass } from './tenants.ts'
import { hasAccess, liveData, MANAGEMENT, testData } from './test-shops.ts'
import { fuzzed } from './world.ts'

const protectedOperations = fuzzed.filter(({ isPublic }) => !isPublic)

test('no key or token of a test shop reads or writes a row of its live shop', async () => {
  const world = await liveData()
  expect(world.stranger.key).toMatch(/^rk_test_/)
  const foreign = foreignTo(world)
  let calls = 0
  for (const op of protectedOperations) calls += await trespass(world, foreign, op, { numRuns: 1, seed: 20261123 })
  expect(calls).toBeGreaterThan(1000)
  expect(await hasAccess(world)).toBe(true)
  await world.server.close()
}, 60_000)

test('no key or token of a live shop reads or writes a row of its test shop', async () => {
  const world = await testData()
  expect(world.stranger.key).toMatch(/^rk_(?!test_)/)
  const foreign = foreignTo(world)
  const others = protectedOperations.filter(({ id }) => !MANAGEMENT.includes(id))
  let calls = 0
  for (const op of others) calls += await trespass(world, foreign, op, { numRuns: 1, seed: 20261123 })
  expect(calls).toBeGreaterThan(1000)
  expect(await hasAccess(world)).toBe(true)
  await world.server.close()
}, 60_000)
