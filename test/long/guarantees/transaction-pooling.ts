import { whyNoPgBouncer, whyNotPrepared } from '../../support/pgbouncer.ts'
import { type LongTest, Missing } from '../guarantee.ts'
import { runTests } from '../vitest.ts'

const FILES = ['test/cluster/shared.test.ts', 'test/cluster/pooling.test.ts']

export const guarantee: LongTest = {
  title: 'Several servers behave the same through PgBouncer in transaction mode',
  engines: ['postgres'],
  minutes: 15,
  run: async () => {
    const missing = whyNoPgBouncer()
    if (missing) throw new Missing(missing)
    const unnamed = await runTests(FILES, 'pure', { TEST_POOLING: 'unnamed' })
    const why = whyNotPrepared()
    if (why) return `${unnamed} tests without prepared statements; with them skipped, because ${why}`
    const prepared = await runTests(FILES, 'pure', { TEST_POOLING: 'prepared' })
    return `${unnamed} tests without prepared statements, ${prepared} with them`
  },
}
