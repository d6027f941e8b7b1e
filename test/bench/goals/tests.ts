import { runTest } from '../../../scripts/repeat-test.ts'
import { spreadOf } from '../harness/compare.ts'
import type { Options } from '../harness/options.ts'
import { print } from '../harness/report.ts'

/** P15: the time of `test`; `test:repeat` shows whether it passes beside busy processes. */
export async function p15({ only }: Options): Promise<void> {
  const { isPassed, seconds, cpuSeconds, failed } = await runTest(only ? [only] : [])
  if (!isPassed) throw new Error(`tests failed: ${failed.join(', ')}`)
  const line = { goal: 'P15', unit: 'min' }
  print({ ...line, what: 'time of `test`', wanted: { most: 4 }, result: spreadOf([seconds / 60]) })
  print({ ...line, what: 'CPU time of `test`', wanted: { most: 8 }, result: spreadOf([cpuSeconds / 60]) })
}
