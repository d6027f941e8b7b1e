import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { figure, type LongTest, sized } from '../guarantee.ts'
import { runTests } from '../vitest.ts'

/** No data outlives the run, so it does not wait for a disk. */
const MEMORY = '/dev/shm'
const FILE = 'test/commissions/money.property.test.ts'

/** Random sequences of orders, refunds, moderation, batches and payments compared with independent arithmetic. */
export const guarantee: LongTest = {
  title: 'Monetary sums are exact',
  engines: ['sqlite', 'postgres'],
  minutes: 12,
  run: async (given) => {
    const runs = sized(given.engine === 'sqlite' ? 10_000 : 300, given)
    const shares = given.engine === 'sqlite' ? Math.min(4, availableParallelism()) : 1
    const env = { MONEY_RUNS: String(Math.ceil(runs / shares)), ...(existsSync(MEMORY) ? { TMPDIR: MEMORY } : {}) }
    await Promise.all(Array.from({ length: shares }, () => runTests([FILE], given.engine, env)))
    return `${figure(Math.ceil(runs / shares) * shares)} random sequences of 4 to 24 steps: every sum exact to the cent`
  },
}
