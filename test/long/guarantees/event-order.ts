import { existsSync } from 'node:fs'
import { figure, type LongTest, sized } from '../guarantee.ts'
import { runTests } from '../vitest.ts'

/** No data outlives the run, so it does not wait for a disk. */
const MEMORY = '/dev/shm'
const FILE = 'test/orders/event-order.property.test.ts'

/** Random orders with refunds and cancellations, sent in random order, repeated, and in parallel. */
export const guarantee: LongTest = {
  title: 'Orders, refunds and cancellations end in one ledger in any order',
  engines: ['sqlite', 'postgres'],
  minutes: 10,
  run: async (given) => {
    const runs = sized(1000, given)
    await runTests([FILE], given.engine, {
      PERMUTATIONS: String(runs),
      ...(existsSync(MEMORY) ? { TMPDIR: MEMORY } : {}),
    })
    return `${figure(runs)} permutations with repetitions and parallel requests, and ${figure(Math.ceil(runs / 2))} with a payment in between: the same commissions, refunds and net amounts`
  },
}
