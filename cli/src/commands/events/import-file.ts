// What imports of orders and of refunds share.
import { basename } from 'node:path'
import { type FailedRow, writeFailedRows } from '../../csv/failed-rows.ts'
import { type Csv, decodeUtf8, parseCsv, readCsv } from '../../csv/parse.ts'
import { renderRows } from '../../output/render.ts'
import { readStdin } from '../../prompt.ts'
import type { Run } from '../../run.ts'

/** Reads a CSV file, or standard input for `-`. */
export const readImportFile = async (run: Run, file: string): Promise<Csv> =>
  file === '-' ? parseCsv(decodeUtf8(await readStdin(run.context), 'standard input'), 'standard input') : readCsv(file)

/** How a field is read. */
export interface MappedColumn {
  field: string
  column: string
  format: string
  /** Its value in the first row. */
  first: string
}

/** Shows the column of each field, so that the user notices a wrong one before anything is sent. */
export function printColumns(run: Run, columns: readonly MappedColumn[]): void {
  if (run.globalOptions.quiet) return
  const style = { ...run.style, format: 'table' as const, fields: undefined, palette: run.reporter.palette }
  run.reporter.write(
    renderRows(
      [...columns].map((one) => ({ ...one })),
      ['field', 'column', 'format', 'first'],
      style,
    ),
  )
}

/** Writes the failed rows next to the file and names the first of them. @returns the name of the file */
export function reportFailedRows(run: Run, csv: Csv, file: string, failed: readonly FailedRow[]): string | null {
  const failedFile = failed.length ? writeFailedRows(csv, file, failed) : null
  const shown = run.dryRun ? failed : failed.slice(0, 5)
  for (const { row, problem } of shown) run.reporter.warn(`line ${row.line}: ${problem}`)
  if (failed.length > shown.length) run.reporter.warn(`and ${failed.length - shown.length} more`)
  if (failedFile && basename(failedFile) !== 'failed.csv')
    run.reporter.info(`failed.csv contains other rows and was kept; the failed rows are in ${failedFile}`)
  return failedFile
}
