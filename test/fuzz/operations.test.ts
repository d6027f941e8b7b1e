// Full: it sends generated requests to every operation.
// SQLite only: reading every table after each call takes too long on PostgreSQL; test/long covers both.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fuzz } from './check.ts'
import { type FuzzWorld, fuzzed, fuzzWorld } from './world.ts'

/** test/long sends more, and different ones each time. */
const RUNS = 20
const SEED = 20261121

let world: FuzzWorld
beforeAll(async () => {
  world = await fuzzWorld()
})
afterAll(() => world.server.close())

const seen: Record<number, number> = {}

test.each(fuzzed.map((op) => [op.id, op] as const))(
  '%s: no 500, no undocumented response, no rejected request that changes anything',
  async (_id, op) => {
    const { byStatus } = await fuzz(world, op, RUNS, SEED)
    for (const [status, count] of Object.entries(byStatus)) seen[Number(status)] = (seen[Number(status)] ?? 0) + count
  },
)

test('the generated requests include valid and invalid ones', () => {
  for (const status of [200, 201, 400, 401, 403, 404]) expect(seen[status], `status ${status}`).toBeGreaterThan(0)
})
