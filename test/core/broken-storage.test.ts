import { describe, expect, test } from 'vitest'
import { call, exampleServer, snapshot } from '../contract/fixture.ts'
import { endBackendOnce, FAULTS } from '../support/broken-storage.ts'
import { engine } from '../support/database.ts'
import { countOf } from '../support/inspect.ts'
import type { TestServer } from '../support/server.ts'

/** As clients do: a connection that was ended is noticed when it is next used. */
async function retried(server: TestServer, id: string): Promise<number> {
  let status = 503
  for (let attempt = 0; status === 503 && attempt < 20; attempt++) status = (await call(server, id)).status
  return status
}

// Every operation under every fault: pnpm test:long faults.
describe.each(['recordEvent', 'createPayout'])('%s', (id) => {
  test.each(Object.entries(FAULTS))('503 and no change: %s; requests succeed afterwards', async (_, breakIt) => {
    const server = await exampleServer()
    const restore = breakIt(server)
    const before = snapshot(server)
    const { status, headers } = await call(server, id)
    expect([status, headers.get('Retry-After')]).toEqual([503, '1'])
    expect(snapshot(server)).toBe(before)
    restore()
    expect(await retried(server, id)).toBeLessThan(300)
    await server.close()
  })

  test.runIf(engine === 'postgres')(
    'a single lost connection fails no request, and no change is applied twice',
    async () => {
      const server = await exampleServer()
      const audits = () => countOf(server, 'audits')
      const before = audits()
      const restore = endBackendOnce(server, 2)
      expect((await call(server, id)).status).toBeLessThan(300)
      restore()
      expect(audits() - before).toBe(1)
      await server.close()
    },
  )
})
