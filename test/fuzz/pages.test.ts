// Full: it sends generated requests to every operation.
// SQLite only: reading every table after each call takes too long on PostgreSQL; test/long covers both.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fuzzPages, type Pages, readPages, sessionOf } from './pages.ts'
import { foreignTo } from './tenants.ts'
import { type FuzzWorld, fuzzWorld } from './world.ts'

const RUNS = { numRuns: 4, seed: 20261121 }
let world: FuzzWorld
let pages: Pages
beforeAll(async () => {
  world = await fuzzWorld()
  pages = await readPages(world, await sessionOf(world, world.server.shop.ownerToken))
})
afterAll(() => world.server.close())

test('there are pages, and forms with fields', () => {
  expect(pages.routes.length).toBeGreaterThan(15)
  expect(pages.fields.length).toBeGreaterThan(10)
})

test('a stranger learns nothing and changes nothing on any page', async () => {
  const foreign = foreignTo(world)
  const before = foreign.rows()
  const session = await sessionOf(world, world.stranger.ownerToken)
  await fuzzPages(world, { pages, session, foreign }, RUNS)
  expect(foreign.rows()).toBe(before)
})

test('no page fails, runs sent markup, or changes anything when it rejects a form', async () => {
  await fuzzPages(world, { pages, session: await sessionOf(world, world.server.shop.ownerToken) }, RUNS)
})
