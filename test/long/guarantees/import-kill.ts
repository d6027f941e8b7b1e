import { figure, type LongTest, sized } from '../guarantee.ts'
import { runTests } from '../vitest.ts'

/** The normal suite does the same with 1,000 orders. */
export const guarantee: LongTest = {
  title: 'An import that was killed records each order once when it is run again',
  minutes: 4,
  run: async (given) => {
    const orders = sized(50, given) * 100
    const env = { IMPORT_ORDERS: String(orders) }
    const passed = await runTests(['test/cli/import-orders.test.ts'], given.engine, env)
    return `${figure(orders)} orders, killed midway: each recorded once; ${passed} tests of imports passed`
  },
}
