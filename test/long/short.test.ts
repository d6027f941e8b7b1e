// SQLite only: test/cluster covers several processes with PostgreSQL.
import { expect, test } from 'vitest'
import { type LongTest, Missing } from './promise.ts'
import { promise as clockJumps } from './promises/clock-jumps.ts'
import { promise as fullDisk } from './promises/full-disk.ts'
import { promise as kill } from './promises/kill.ts'
import { promise as powerCut } from './promises/power-cut.ts'
import { promise as sameKey } from './promises/same-key.ts'

/** What `pnpm test:long` shows at its full size, at a size that costs a moment. Other promises have short tests elsewhere. */
const SHORT: [LongTest, scale: number][] = [
  [kill, 0.01],
  [powerCut, 0.04],
  [sameKey, 0.1],
  [clockJumps, 0.2],
  [fullDisk, 0.2],
]

for (const [promise, scale] of SHORT) {
  test(`${promise.says}, in short`, { timeout: 120_000 }, async (context) => {
    try {
      expect(await promise.run({ engine: 'sqlite', scale })).toBeTypeOf('string')
    } catch (error) {
      if (!(error instanceof Missing)) throw error
      console.warn(`skipped: ${promise.says}, because ${error.message}`)
      context.skip()
    }
  })
}
