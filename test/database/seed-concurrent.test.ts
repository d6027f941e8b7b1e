// Full: it compares a clock with a bound.
// SQLite only: one writes at a time, whichever process it is.
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openDatabase } from '../../server/src/database/open.ts'
import { seed } from '../../server/src/operator/seed.ts'
import { testServer } from '../support/server.ts'

/** Twice what a seed writes before it lets others write. */
const FAIR_MS = 400

test('other processes can write during a seed', async () => {
  const server = await testServer()
  const other = await openDatabase(server.url)
  let isSeeding = true
  let longest = 0
  const writing = (async () => {
    while (isSeeding) {
      const startedAt = performance.now()
      await other.transact((trx) => trx.updateTable('installationSettings').set({ value: 'x' }).execute())
      longest = Math.max(longest, performance.now() - startedAt)
      await sleep(5)
    }
  })()
  const startedAt = performance.now()
  await seed(server.deps, { shop: server.shop.shopId, affiliates: 5, clicks: 0, commissions: 2500, days: 20 })
  const took = performance.now() - startedAt
  isSeeding = false
  await writing
  // The part, on a machine that is slow.
  expect(longest).toBeLessThan(Math.max(took * 0.6, FAIR_MS))
  await other.close()
  await server.close()
})
