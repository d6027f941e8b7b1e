import { setImmediate } from 'node:timers/promises'
import { SqliteAdapter } from 'kysely'
import { chunks } from './chunks.ts'
import type { Reader } from './database.ts'

/** Lets the event loop process other requests. */
export const yieldToEventLoop = (): Promise<void> => setImmediate()

/** Whether the database is SQLite, whose statements block the event loop. */
export const isSqlite = (db: Reader): boolean => db.getExecutor().adapter instanceof SqliteAdapter

/** How long work may block the event loop before it yields. */
const YIELD_AFTER_MS = 10

/** Lets other requests proceed once in a while. */
export function createPause(): () => Promise<void> {
  let since = performance.now()
  return async () => {
    if (performance.now() - since < YIELD_AFTER_MS) return
    await yieldToEventLoop()
    since = performance.now()
  }
}

/**
 * Runs `work` for each item in order. On SQLite, it yields to the event loop in between, so that many items do not block
 * other requests.
 */
export async function forEachInSlices<T>(
  db: Reader,
  items: Iterable<T>,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const pause = isSqlite(db) ? createPause() : undefined
  for (const item of items) {
    await pause?.()
    await work(item)
  }
}

/** How many items to change at once. */
const BATCH_SIZE = 100

/** Changes many items in batches and yields to the event loop in between. For use with SQLite. */
export async function inBatches<T>(all: T[], change: (batch: T[]) => Promise<unknown>): Promise<void> {
  const isLong = all.length > BATCH_SIZE
  for (const batch of chunks(all, BATCH_SIZE)) {
    if (isLong) await yieldToEventLoop()
    await change(batch)
  }
  if (isLong) await yieldToEventLoop()
}
