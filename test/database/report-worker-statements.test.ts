// Full: needs large tables, other processes, or failures of the database.
// SQLite only: a statement of it runs in the thread itself, which cannot be ended before it; PostgreSQL breaks it off
import { existsSync, readdirSync } from 'node:fs'
import { expect } from 'vitest'
import type { TestServer } from '../support/server.ts'
import { test } from '../support/test.ts'
import { testReport } from './test-report.ts'

const TASKS = '/proc/self/task'
const run = (server: TestServer, job: string, ms?: number) => {
  const asked = { job, shopId: 'shp_1' }
  return server.db.runReport(testReport, asked, ms).catch((error) => error.code)
}

test.runIf(existsSync(TASKS))(
  'threads that cannot be terminated yet do not accumulate: the third waits for the first',
  async ({ server }) => {
    await run(server, 'shops')
    const before = readdirSync(TASKS).length
    let most = 0
    const watch = setInterval(() => {
      most = Math.max(most, readdirSync(TASKS).length - before + 1)
    }, 20)
    const answers = await Promise.all([
      run(server, 'statement', 200),
      run(server, 'statement', 200),
      run(server, 'shops'),
    ])
    clearInterval(watch)
    expect(answers).toEqual(['report_timeout', 'report_timeout', 1])
    expect(most).toBeLessThanOrEqual(2)
  },
)
