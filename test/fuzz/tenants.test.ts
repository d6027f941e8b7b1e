// Full: it sends generated requests to every operation.
// SQLite only: reading every row after each call takes too long on PostgreSQL; test/long covers both.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Foreign, foreignTo, trespass } from './tenants.ts'
import { type FuzzWorld, fuzzed, fuzzWorld } from './world.ts'

let world: FuzzWorld
let foreign: Foreign
beforeAll(async () => {
  world = await fuzzWorld()
  foreign = foreignTo(world)
})
afterAll(() => world.server.close())

test('the other shop has data of every kind', () => {
  expect(foreign.texts.length).toBeGreaterThan(50)
  expect(foreign.texts).toEqual(expect.arrayContaining(['nisa@example.com', 'https://hooks.example.com/referral']))
})

test.each(fuzzed.filter(({ isPublic }) => !isPublic).map((op) => [op.id, op] as const))(
  '%s: a stranger learns nothing and changes nothing',
  async (_id, op) => {
    await trespass(world, foreign, op, { numRuns: 4, seed: 20261121 })
  },
)
