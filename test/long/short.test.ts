// Full: it runs guarantees of test:long in short form.
// SQLite only: test/cluster covers several processes with PostgreSQL.
import { expect, test } from 'vitest'
import { type LongTest, Missing } from './guarantee.ts'
import { guarantee as clockJumps } from './guarantees/clock-jumps.ts'
import { guarantee as fullDisk } from './guarantees/full-disk.ts'
import { guarantee as kill } from './guarantees/kill.ts'
import { guarantee as powerLoss } from './guarantees/power-loss.ts'
import { guarantee as sameKey } from './guarantees/same-key.ts'
import { guarantee as sdkFaults } from './guarantees/sdk-faults.ts'

/** Guarantees of `pnpm test:long` at a small size. The others have short tests elsewhere. */
const SHORT: [LongTest, scale: number][] = [
  [kill, 0.01],
  [powerLoss, 0.04],
  [sameKey, 0.1],
  [clockJumps, 0.2],
  [fullDisk, 0.2],
  [sdkFaults, 0.06],
]

for (const [guarantee, scale] of SHORT) {
  test(`${guarantee.title} (short version)`, { timeout: 120_000 }, async (context) => {
    try {
      expect(await guarantee.run({ engine: 'sqlite', scale })).toBeTypeOf('string')
    } catch (error) {
      if (!(error instanceof Missing)) throw error
      const reason = `skipped: ${guarantee.title}, because ${error.message}`
      console.warn(reason)
      context.skip(reason)
    }
  })
}
