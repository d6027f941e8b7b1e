import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Line } from '../bench/harness/report.ts'
import { fillTable, type Run, whyNotWritten } from '../bench/harness/table.ts'

const page = readFileSync(new URL('../../docs/benchmarks.md', import.meta.url), 'utf8')
const run: Run = { startedAt: '2030-01-02T03:04:05.678Z', commit: 'abc1234', conditions: '2 × CPU', load: 0.5 }
const spread = (min: number, median: number, max: number) => ({ min, median, max })
const lines: Line[] = [
  {
    goal: 'P1',
    what: 'lists',
    wanted: { least: 0.75 },
    result: spread(0.7, 0.8, 0.9),
    ours: '800/s',
    floor: '1000/s',
    cpu: { ours: 140, floor: 100, most: 1.35 },
  },
  { goal: 'P10', what: 'memory', wanted: { most: 110 }, unit: 'MB', result: spread(104, 104, 104) },
  { goal: 'peer', what: 'lists ÷ other', result: spread(2, 3, 4), ours: '800/s', floor: '267/s' },
]

test('the table of the benchmark shows one run, and nothing of the run before', () => {
  const earlier = fillTable(page, { ...run, commit: 'old5678' }, [{ ...lines[0]!, what: 'earlier' }])
  const written = fillTable(earlier, run, lines)
  expect(written).toBe(fillTable(page, run, lines))
  expect(written).toContain('Measured on 2030-01-02 at commit abc1234: 2 × CPU, load average 0.50 at the start.')
  expect(
    written
      .split('\n')
      .filter((line) => /^\| (P1|P10|peer) \|.*\|.*\|.*\|.*\|/.test(line))
      .slice(-3),
  ).toEqual([
    '| P1 | lists | 800/s | 1000/s | **0.80** (0.70–0.90) | ≥ 0.75 | 140 / 100 µs = 1.40 ×, goal ≤ 1.35 | missed |',
    '| P10 | memory |  |  | **104.00** MB | ≤ 110 MB |  | reached |',
    '| peer | lists ÷ other | 800/s | 267/s | **3.00** (2.00–4.00) |  |  |  |',
  ])
  const withoutTable = (text: string) => text.replace(/(?<=bench --write` -->).*(?=<!-- End)/s, '')
  expect(withoutTable(written)).toBe(withoutTable(page))
})

test.each([
  [{ load: 0.99 }, [], true],
  [{ load: 1.01 }, [], false],
  [{ load: 0.1 }, ['p1'], false],
])('with %j and the goals %j, it is written: %j', (given, names, isWritten) => {
  expect(whyNotWritten(given, names) === undefined).toBe(isWritten)
})
