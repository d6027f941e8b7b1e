import { renameSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Csv } from '../csv/read.ts'
import { verbatimCell } from '../output/csv.ts'
import { plainText } from '../output/text.ts'
import type { FailedRow } from './plan.ts'

/** The rows as they were, with the reason: correct them and import this file. Gives its name. */
export function writeFailed({ header }: Csv, file: string, failed: readonly FailedRow[]): string {
  const usual = join(dirname(file), 'failed.csv')
  const target = resolve(usual) === resolve(file) ? join(dirname(file), 'failed-2.csv') : usual
  const columns = header.flatMap((name, i) => (name === 'error' ? [] : [{ name, i }]))
  const line = (cells: readonly string[]) => `${cells.map(verbatimCell).join(',')}\n`
  const lines = [...failed]
    .sort((a, b) => a.row.line - b.row.line)
    .map(({ row, problem }) => line([...columns.map(({ i }) => row.fields[i] ?? ''), plainText(problem)]))
  writeFileSync(`${target}.new`, line([...columns.map(({ name }) => name), 'error']) + lines.join(''), { mode: 0o600 })
  renameSync(`${target}.new`, target)
  return target
}
