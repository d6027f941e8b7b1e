// Full: it sends generated requests to every operation.
// SQLite only: the requests are read before anything is stored.
import { expect, test } from 'vitest'
import { fuzzRaw } from './raw.ts'
import { fuzzWorld } from './world.ts'

test('malformed HTTP causes no failure, and any response is a JSON error', async () => {
  const world = await fuzzWorld()
  const { answers, refused } = await fuzzRaw(world, { numRuns: 300, seed: 20261121 })
  await world.server.close()
  expect(answers).toBeGreaterThan(200)
  expect(refused).toBeGreaterThan(100)
})
