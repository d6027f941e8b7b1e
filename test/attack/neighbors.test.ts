// SQLite only: there, orders share one thread with whatever else a shop asks for.
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isSlowed, isUnknown, measureNeighbors, type NeighborDelay, neighborTable } from './neighbors.ts'

const SLACK_MS = 50

test.skipIf(!existsSync('/proc/self/schedstat'))(
  `orders take at most twice as long, or ${SLACK_MS} ms more, whatever another shop does within its limits`,
  { timeout: 300_000 },
  async (context) => {
    const isSlow = isSlowed('alone', SLACK_MS)
    const isNotMeasured = isUnknown('alone')
    const isOpen = (delay: NeighborDelay) => isNotMeasured(delay) || isSlow(delay)
    const delays = await measureNeighbors(
      { commissions: 5000, affiliates: 2000 },
      { seconds: 2, rounds: 4, withLight: false, isEnough: (all) => !all.some(isOpen) },
    )
    const measured = delays.filter((delay) => !isNotMeasured(delay))
    expect(measured.filter(isSlow), neighborTable(delays)).toEqual([])
    for (const { name, statuses } of measured) {
      const isServed = Object.keys(statuses).some((status) => status.startsWith('2'))
      expect(isServed, `${name}: ${JSON.stringify(statuses)}`).toBe(true)
    }
    if (measured.length < delays.length) {
      console.warn('skipped: what one shop does to the orders of another, because this machine is too busy')
      context.skip()
    }
  },
)
