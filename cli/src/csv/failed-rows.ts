import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { sanitizeText } from '../output/text.ts'
import { writePrivateFile } from '../private-file.ts'
import { type Csv, type CsvRow, parseCsv } from './parse.ts'
import { verbatimCell } from './write.ts'

/** A row that was not imported, and why. */
export interface FailedRow {
  row: CsvRow
  problem: string
}

const line = (cells: readonly string[]) => `${cells.map(verbatimCell).join(',')}\n`

/**
 * Writes the failed rows, unmodified, with the reason in an `error` column. The user corrects and imports this file.
 *
 * @returns the file's name.
 */
export function writeFailedRows(csv: Csv, file: string, failed: readonly FailedRow[]): string {
  const target = unusedFileName(csv, file)
  const columns = csv.header.flatMap((name, i) => (name === 'error' ? [] : [{ name, i }]))
  const lines = [...failed]
    .sort((a, b) => a.row.line - b.row.line)
    .map(({ row, problem }) => line([...columns.map(({ i }) => row.fields[i] ?? ''), sanitizeText(problem)]))
  writePrivateFile(target, line([...columns.map(({ name }) => name), 'error']) + lines.join(''))
  return target
}

/** Returns failed.csv or the next number, so that other files' rows, or corrected rows, are not overwritten. */
function unusedFileName(csv: Csv, file: string): string {
  for (let number = 1; ; number++) {
    const name = join(dirname(file), number === 1 ? 'failed.csv' : `failed-${number}.csv`)
    if (resolve(name) !== resolve(file) && (!existsSync(name) || holdsOnlyRowsOf(csv, name))) return name
  }
}

/** Whether the file contains only unmodified rows from this CSV. */
function holdsOnlyRowsOf(csv: Csv, name: string): boolean {
  try {
    const { header, rows } = parseCsv(readFileSync(name, 'utf8'), name)
    const columns = csv.header.filter((column) => column !== 'error')
    const keyOf = ({ cells }: { cells: Record<string, string> }) => line(columns.map((column) => cells[column] ?? ''))
    const known = new Set(csv.rows.map(keyOf))
    return line(header) === line([...columns, 'error']) && rows.every((row) => known.has(keyOf(row)))
  } catch {
    return false
  }
}
