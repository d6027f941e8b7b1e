import type { TestServer } from '../support/server.ts'

/**
 * Stops the next `count` transactions before they begin: their calls have read by then and not yet written. `arrived`
 * resolves when all of them wait, `release` lets them go.
 */
export function hold({ deps }: TestServer, count = 1): { arrived: Promise<void>; release: () => void } {
  const { db } = deps
  const arrived = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  let waiting = 0
  deps.db = {
    ...db,
    transact: async (work, shopId) => {
      if (waiting < count) {
        waiting += 1
        if (waiting === count) {
          deps.db = db
          arrived.resolve()
        }
        await gate.promise
      }
      return db.transact(work, shopId)
    },
  }
  return { arrived: arrived.promise, release: gate.resolve }
}
