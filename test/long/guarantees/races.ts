import { type LongTest, sized } from '../guarantee.ts'
import { runTests } from '../vitest.ts'

const FILES = [
  'test/core/races.test.ts',
  'test/payouts/races.test.ts',
  'test/commissions/races.test.ts',
  'test/webhooks/claims.test.ts',
]

/** Callers that have all read the same before any of them writes. */
export const guarantee: LongTest = {
  title: 'Of concurrent changes to one resource, one succeeds',
  engines: ['sqlite', 'postgres'],
  minutes: 6,
  run: async (given) => {
    const times = sized(4, given)
    let passed = 0
    for (let n = 0; n < times; n++) passed += await runTests(FILES, given.engine)
    return `${passed / times} races of 12 to 16 callers, ${times} times each: always one winner, totals exact`
  },
}
