// SQLite only: what is measured is how requests are read, not where they are stored.
import { expect, test } from 'vitest'
import { heavyRequests, stallOf } from './heavy.ts'
import { fuzzWorld } from './world.ts'

/** 50 ms is what is promised, and measured in test/long; this machine may be busy. */
const MS = 400

test('no request holds up the others, however large and twisted it is', async () => {
  const world = await fuzzWorld()
  const slow: string[] = []
  for (const heavy of heavyRequests(world)) {
    const { ms, status } = await stallOf(world, heavy, { tries: 6, enough: MS })
    if (ms > MS || status >= 500) slow.push(`${heavy.name}: ${status} after ${Math.round(ms)} ms`)
  }
  await world.server.close()
  expect(slow).toEqual([])
})
