import { beforeTransaction } from '../support/faults.ts'
import type { TestServer } from '../support/server.ts'

/**
 * Stops the next `count` transactions before they begin, when their requests have read and not yet written. `arrived`
 * resolves when all of them wait, `release` lets them continue.
 */
export function hold(server: TestServer, count = 1): { arrived: Promise<void>; release: () => void } {
  const arrived = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  let waiting = 0
  const end = beforeTransaction(server, async () => {
    if (waiting >= count) return
    waiting += 1
    if (waiting === count) {
      end()
      arrived.resolve()
    }
    await gate.promise
  })
  return { arrived: arrived.promise, release: gate.resolve }
}
