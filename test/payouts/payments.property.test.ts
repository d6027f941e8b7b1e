// Full: it runs long random histories.
import { expect } from 'vitest'
import { test } from '../support/test.ts'
import { runHistory } from './payment-history.ts'

/** More in `test:long`, from another seed. */
const HISTORIES = Number(process.env.PAYMENT_HISTORIES ?? 25)
const SEED = Number(process.env.PAYMENT_SEED ?? 1)

test('what was paid, is in flight and is payable adds up to what was earned, to the cent, in random histories and after restores', async ({
  server,
}) => {
  const counts: Record<string, number> = {}
  for (let seed = SEED; seed < SEED + HISTORIES; seed++) {
    const shop = { ...server, ...server.asShop(await server.createShop()) }
    const done = await runHistory(shop, seed).catch((error) => {
      throw new Error(`seed ${seed}: ${error.message}`, { cause: error })
    })
    for (const [name, count] of Object.entries(done)) counts[name] = (counts[name] ?? 0) + count
  }
  const { carriedOver, ...steps } = counts
  expect(Object.keys(steps).length).toBe(12)
  // Restores of a backup are on SQLite alone.
  if (server.url.startsWith('file:')) expect(carriedOver).toBeGreaterThan(0)
}, 3_600_000)
