import { existsSync } from 'node:fs'
import { figure, type LongTest, sized } from '../guarantee.ts'
import { runTests } from '../vitest.ts'

/** No data outlives the run, so it does not wait for a disk. */
const MEMORY = '/dev/shm'
const FILE = 'test/payouts/payments.property.test.ts'

/** Random histories of orders, refunds, batches, payment files and reports of a bank, compared with independent arithmetic. */
export const guarantee: LongTest = {
  title: 'What was paid, is in flight and is payable adds up to what was earned',
  engines: ['sqlite', 'postgres'],
  minutes: 20,
  run: async (given) => {
    const histories = sized(given.engine === 'sqlite' ? 1000 : 100, given)
    const env = { PAYMENT_HISTORIES: String(histories), PAYMENT_SEED: '1000' }
    await runTests([FILE], given.engine, { ...env, ...(existsSync(MEMORY) ? { TMPDIR: MEMORY } : {}) })
    return `${figure(histories)} random histories of 14 to 27 steps: every sum exact to the cent, no payment twice`
  },
}
