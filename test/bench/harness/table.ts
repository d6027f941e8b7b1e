import { readFileSync, writeFileSync } from 'node:fs'
import { cpuText, goalText, type Line, spreadText, verdictOf } from './report.ts'

const PAGE = new URL('../../../docs/benchmarks.md', import.meta.url)
const TABLE = /(?<=<!-- Written by `bench --write` -->\n).*(?=<!-- End -->)/s
const MOST_LOAD = 1

export interface Run {
  /** The machine, and how long it was loaded. */
  conditions: string
  startedAt: string
  /** With `-dirty` if files differed from it. */
  commit: string
  load: number
}

/** Why this run may not become the table: it shows everything, from one run, on a machine that does nothing else. */
export function whyNotWritten({ load }: Pick<Run, 'load'>, names: string[]): string | undefined {
  if (names.length > 0) return '--write measures every goal and takes no names'
  return load > MOST_LOAD ? `the load average is ${load.toFixed(2)}, and may be at most ${MOST_LOAD}` : undefined
}

export const write = (run: Run, lines: Line[]): void =>
  writeFileSync(PAGE, fillTable(readFileSync(PAGE, 'utf8'), run, lines))

/** The page with this run in place of the previous one. */
export function fillTable(page: string, { startedAt, commit, conditions, load }: Run, lines: Line[]): string {
  if (!TABLE.test(page)) throw new Error('the page has no place for the table')
  const table = [
    `Measured on ${startedAt.slice(0, 10)} at commit ${commit}: ${conditions}, load average ${load.toFixed(2)} at the start.`,
    '',
    '| | measurement | this server | compared with | result (min–max) | goal | CPU time per request | |',
    '|---|---|---|---|---|---|---|---|',
    ...lines.map((line) => `| ${cellsOf(line).join(' | ')} |`),
    '',
  ]
  return page.replace(TABLE, () => table.join('\n'))
}

const cellsOf = (line: Line): string[] => [
  line.goal,
  line.what,
  line.ours ?? '',
  line.floor ?? '',
  `**${spreadText(line.result, '–').replace(' ', '** ')}`.replace(/^[^ ]+$/, '$&**') +
    (line.unit ? ` ${line.unit}` : ''),
  goalText(line, ['≥', '≤']).replace('goal ', ''),
  cpuText(line.cpu).replace('CPU ', '').replace('<=', '≤'),
  verdictOf(line),
]
