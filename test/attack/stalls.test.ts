// Full: it measures other requests beside hostile ones.
// SQLite only: PostgreSQL runs in its own process, and its statements block no request here.
import { expect, test } from 'vitest'
import { allOperations } from '../support/document.ts'
import { isTooLong, MAX_STALL_MS, measureStalls } from './measure.ts'
import { stallTable } from './stall.ts'

test(`no operation keeps other requests waiting for more than ${MAX_STALL_MS} ms, however large the shop is`, {
  timeout: 300_000,
}, async () => {
  const stalls = await measureStalls({ commissions: 10_000, affiliates: 10_000 }, { tries: 5 })
  const slow = stalls.filter(isTooLong)
  expect(slow, stallTable(slow)).toEqual([])
  const measured = new Set(stalls.map(({ operation }) => operation))
  expect(allOperations.map(({ id }) => id).filter((id) => !measured.has(id))).toEqual([])
})
