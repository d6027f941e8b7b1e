// Full: it compares the CPU time of turns of the event loop.
// SQLite only: PostgreSQL runs in its own process, and its statements block no request here.
import { expect } from 'vitest'
import { manyNames } from '../fuzz/heavy.ts'
import type { TestServer } from '../support/server.ts'
import { testWithNewShop as test } from '../support/test.ts'
import { watchLoop } from './stall.ts'

const MANY = 16
/** Handled side by side instead of one after the other, each step of all bodies would run in one turn. */
const MAX_RATIO = 2
/** Garbage collection lengthens some turns. */
const TRIES = 5

let sent = 0
/** The heaviest body that is accepted. */
const conversion = (server: TestServer): Request => {
  const id = `many-${++sent}`
  const body = `{"externalOrderId":"${id}","amountCents":1,"x":${manyNames(`n${sent}_`)}}`
  const headers = { Authorization: `Bearer ${server.shop.key}`, 'Idempotency-Key': id }
  return new Request('http://test/api/v1/events', { method: 'POST', headers, body })
}

/** The longest turn of the event loop while bodies arrive in groups of `atOnce`, in CPU time, which others cannot use up. */
async function longestTurn(server: TestServer, atOnce: number): Promise<number> {
  const requests = Array.from({ length: MANY }, () => conversion(server))
  const watch = watchLoop()
  const statuses: number[] = []
  while (requests.length > 0) {
    const replies = await Promise.all(requests.splice(0, atOnce).map((request) => server.app.fetch(request)))
    statuses.push(...replies.map(({ status }) => status))
  }
  const { cpuMs } = await watch()
  // More than the shop's share of memory is rejected.
  expect(new Set([...statuses, 503])).toEqual(new Set([201, 503]))
  expect(statuses.filter((status) => status === 201).length).toBeGreaterThan(MANY / 3)
  return cpuMs
}

test(`${MANY} of the heaviest bodies at once keep others waiting hardly longer than one`, async ({ server }) => {
  const ratios: number[] = []
  while (ratios.length < TRIES && !ratios.some((ratio) => ratio < MAX_RATIO)) {
    const [one, all] = [await longestTurn(server, 1), await longestTurn(server, MANY)]
    console.log(`longest turn: ${one.toFixed(1)} ms, and ${all.toFixed(1)} ms for bodies at once`)
    ratios.push(all / one)
  }
  expect(Math.min(...ratios)).toBeLessThan(MAX_RATIO)
})
