// SQLite only: a statement of it runs in the thread itself, which cannot be ended before it; PostgreSQL breaks it off
import { existsSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestServer, testServer } from '../support/server.ts'
import { testReport } from './test-report.ts'

let server: TestServer
beforeAll(async () => {
  server = await testServer()
})
afterAll(() => server.close())

const TASKS = '/proc/self/task'
const run = (job: string, ms?: number) => {
  const asked = { job, shopId: 'shp_1' }
  return server.db.runReport(testReport, asked, ms).catch((error) => error.code)
}

test.runIf(existsSync(TASKS))(
  'threads that cannot be ended yet do not gather: the third waits for the first',
  async () => {
    await run('shops')
    const before = readdirSync(TASKS).length
    let most = 0
    const watch = setInterval(() => {
      most = Math.max(most, readdirSync(TASKS).length - before + 1)
    }, 20)
    const answers = await Promise.all([run('statement', 600), run('statement', 600), run('shops')])
    clearInterval(watch)
    expect(answers).toEqual(['report_timeout', 'report_timeout', 1])
    expect(most).toBeLessThanOrEqual(2)
  },
)
