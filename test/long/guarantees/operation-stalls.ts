import { isTooLong, MAX_STALL_MS, measureStalls } from '../../attack/measure.ts'
import { stallTable } from '../../attack/stall.ts'
import { figure, type LongTest, type RunOptions, sized } from '../guarantee.ts'

async function run(options: RunOptions): Promise<string> {
  const size = { commissions: sized(1_000_000, options), affiliates: sized(100_000, options) }
  const stalls = await measureStalls(size, { tries: 5 })
  const slow = stalls.filter(isTooLong)
  if (slow.length > 0) throw new Error(`longer than ${MAX_STALL_MS} ms:\n${stallTable(slow)}`)
  const operations = new Set(stalls.map(({ operation }) => operation)).size
  const of = `${figure(size.commissions)} commissions, ${figure(size.affiliates)} affiliates`
  return `${operations} operations, ${stalls.length} requests, ${of}; work of the thread, by the clock:\n${stallTable(stalls)}`
}

export const guarantee: LongTest = {
  title: 'No operation blocks the others',
  engines: ['sqlite', 'postgres'],
  minutes: 30,
  run,
}
