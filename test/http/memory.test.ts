// Full: it measures connections that stall or flood.
// SQLite only: what a request leaves in memory does not depend on the database.
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { testServer } from '../support/server.ts'

setFlagsFromString('--expose-gc')
const collect: (options: { type: 'minor' | 'major' }) => void = runInNewContext('gc')
setFlagsFromString('--no-expose-gc')

const oldBytes = () =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space')?.space_used_size ?? 0

const REQUESTS = 3000

test('a request leaves nothing behind that only a full garbage collection removes', async () => {
  const server = await testServer()
  const send = async (count: number) => {
    for (let n = 0; n < count; n++) {
      await (await server.app.request('/api/v1/commissions')).text()
      // Objects that survive two of these move to the old space.
      if (n % 100 === 0) collect({ type: 'minor' })
    }
  }
  await send(REQUESTS)
  collect({ type: 'major' })
  const before = oldBytes()
  await send(REQUESTS)
  expect((oldBytes() - before) / REQUESTS).toBeLessThan(2500)
  await server.close()
})
