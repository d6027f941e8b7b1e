import { setImmediate } from 'node:timers/promises'
import { SqliteAdapter } from 'kysely'
import type { Reader, Transaction } from './access.ts'

/** Resolves when other requests have had a turn. */
export const nextTurn = (): Promise<void> => setImmediate()

/** SQLite works in this process, and nothing else runs during a statement. */
export const isInProcess = (db: Reader): boolean => db.getExecutor().adapter instanceof SqliteAdapter

/** Milliseconds of work after which other requests get a turn. */
const TURN_MS = 10

/**
 * Works on items one after the other, in their order. On SQLite, other requests run in between, so that many items do
 * not hold up the process.
 */
export async function inTurns<T>(
  trx: Transaction,
  items: Iterable<T>,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const isShared = isInProcess(trx)
  let startedAt = performance.now()
  for (const item of items) {
    if (isShared && performance.now() - startedAt > TURN_MS) {
      await nextTurn()
      startedAt = performance.now()
    }
    await work(item)
  }
}

/** How many rows change before other requests get a turn. */
const SLICE = 100

/** Makes a long change slice by slice, so that other requests run in between; for use with SQLite. */
export async function inSlices<T>(all: T[], change: (some: T[]) => Promise<unknown>): Promise<void> {
  const isLong = all.length > SLICE
  for (let start = 0; start < all.length; start += SLICE) {
    if (isLong) await nextTurn()
    await change(all.slice(start, start + SLICE))
  }
  if (isLong) await nextTurn()
}
