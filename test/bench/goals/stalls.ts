import { MAX_STALL_MS, measureStalls } from '../../attack/measure.ts'
import { spreadOf } from '../harness/compare.ts'
import type { Options } from '../harness/options.ts'
import { print } from '../harness/report.ts'

/**
 * P13: how long one request of each operation, as heavy as a valid one may be, keeps the others of a large shop waiting.
 * With a tenth of the rows: filling all tables with a million takes half an hour, which `test:long` has.
 */
export async function p13({ rows, rounds }: Options): Promise<void> {
  const commissions = rows / 10
  const stalls = await measureStalls({ commissions, affiliates: commissions / 10 }, { tries: rounds })
  print({
    goal: 'P13',
    what: `longest stall, ${stalls.length} requests, ${commissions.toLocaleString('en')} rows`,
    wanted: { most: MAX_STALL_MS },
    unit: 'ms',
    result: spreadOf([Math.max(...stalls.map(({ wallMs }) => wallMs))]),
  })
}
