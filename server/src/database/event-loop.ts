import { setImmediate } from 'node:timers/promises'
import { SqliteAdapter } from 'kysely'
import type { Reader, Transaction } from './database.ts'

/** Resolves when other requests have had a turn. */
export const yieldToEventLoop = (): Promise<void> => setImmediate()

/** SQLite works in this process, and nothing else runs during a statement. */
export const isSqlite = (db: Reader): boolean => db.getExecutor().adapter instanceof SqliteAdapter

/** Milliseconds of work after which other requests get a turn. */
const YIELD_AFTER_MS = 10

/**
 * Works on items one after the other, in their order. On SQLite, other requests run in between, so that many items do
 * not hold up the process.
 */
export async function forEachYielding<T>(
  trx: Transaction,
  items: Iterable<T>,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const isShared = isSqlite(trx)
  let startedAt = performance.now()
  for (const item of items) {
    if (isShared && performance.now() - startedAt > YIELD_AFTER_MS) {
      await yieldToEventLoop()
      startedAt = performance.now()
    }
    await work(item)
  }
}

/** How many rows change before other requests get a turn. */
const BATCH_SIZE = 100

/** Makes a long change slice by slice, so that other requests run in between; for use with SQLite. */
export async function inBatches<T>(all: T[], change: (some: T[]) => Promise<unknown>): Promise<void> {
  const isLong = all.length > BATCH_SIZE
  for (let start = 0; start < all.length; start += BATCH_SIZE) {
    if (isLong) await yieldToEventLoop()
    await change(all.slice(start, start + BATCH_SIZE))
  }
  if (isLong) await yieldToEventLoop()
}
