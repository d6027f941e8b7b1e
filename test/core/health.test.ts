import { expect } from 'vitest'
import { FAULTS } from '../support/broken-storage.ts'
import { until } from '../support/calls.ts'
import { engine } from '../support/database.ts'
import { beforeTransaction } from '../support/faults.ts'
import { test } from '../support/test.ts'

/** A commit is due every 5 seconds. */
const NOTICED_MS = 10_000

test.runIf(engine === 'sqlite')(
  '/readyz is 503 while the file cannot be written, and 200 again afterwards',
  { timeout: 30_000 },
  async ({ server }) => {
    const ready = async () => (await server.request('GET', '/readyz')).status
    expect(await ready()).toBe(200)
    const restore = FAULTS['read-only file']!(server)
    await until(async () => (await ready()) === 503, NOTICED_MS, '503')
    expect(await ready()).toBe(503)
    expect((await server.request('GET', '/healthz')).status).toBe(200)
    restore()
    await until(async () => (await ready()) === 200, NOTICED_MS, '200')
  },
)

test('probes commit once per 5 seconds, not once per request', async ({ server }) => {
  let writes = 0
  const end = beforeTransaction(server, () => void writes++)
  for (let i = 0; i < 50; i++) expect((await server.request('GET', '/readyz')).status).toBe(200)
  expect(writes).toBeLessThanOrEqual(1)
  end()
})
