import { basename } from 'node:path'
import { confirm, readStdin } from '../ask.ts'
import { type Csv, decodeUtf8, parseCsv, readCsv } from '../csv/read.ts'
import { type ExitCode, exitCode } from '../exit.ts'
import type { Run } from '../run.ts'
import { isInteractive } from '../world.ts'
import { writeFailedRows } from './failed.ts'
import { type Forecast, forecast } from './forecast.ts'
import { ImportJournal } from './journal.ts'
import { type PlanOptions, planImport } from './plan.ts'
import { printMapping } from './preview.ts'
import { type Counts, OrderSender } from './sending.ts'

export interface ImportOptions extends PlanOptions {
  parallel: number
  /** How many orders a dry run asks the service about. */
  forecast: number
  yes?: boolean
}

/** Reports the orders of a file, each once, however often it is run. */
export async function importOrders(run: Run, file: string, options: ImportOptions): Promise<ExitCode | undefined> {
  const csv =
    file === '-'
      ? parseCsv(decodeUtf8(await readStdin(run.context), 'standard input'), 'standard input')
      : readCsv(file)
  const { dialect, settings: reading, orders, failed, lineRows } = planImport(csv, options)
  run.reporter.info(`read as an export of ${dialect.title}${options.from ? '' : '; --from names another'}`)
  printMapping(run, csv, reading)
  if (lineRows)
    run.reporter.info(
      `left out, because they only carry one more line item of the order above: ${lineRows} of the rows`,
    )
  const counts: Counts = { sent: 0, attributed: 0, knownBefore: 0, failed }
  let found: Forecast | null = null
  if (run.dryRun) {
    if (orders.length > 0 && options.forecast > 0)
      found = await forecast(run, await run.client(), { orders, sample: options.forecast })
  } else {
    const journal = new ImportJournal(file, { baseUrl: run.settings.baseUrl, apiKey: run.apiKey })
    const open = orders.filter(({ order }) => !journal.has(order))
    counts.knownBefore = orders.length - open.length
    // A pipe is not asked: the mapping is strict, and what is ambiguous was refused.
    if (open.length && isInteractive(run.context))
      await confirm(run.context, `Report ${open.length} orders?`, options.yes)
    if (open.length) journal.ensureWritable()
    if (open.length) await new OrderSender(run, counts, journal).sendAll(open, options.parallel)
  }
  return report(run, csv, { file, counts, forecast: found })
}

function report(
  run: Run,
  csv: Csv,
  { file, counts, forecast }: { file: string; counts: Counts; forecast: Forecast | null },
): ExitCode | undefined {
  const { failed, ...others } = counts
  const failedFile = failed.length ? writeFailedRows(csv, file, failed) : null
  // A dry run is there to be read; an import points at its file.
  const shown = run.dryRun ? failed : failed.slice(0, 5)
  for (const { row, problem } of shown) run.reporter.warn(`line ${row.line}: ${problem}`)
  if (failed.length > shown.length) run.reporter.warn(`and ${failed.length - shown.length} more`)
  if (failedFile && basename(failedFile) !== 'failed.csv')
    run.reporter.info(`failed.csv holds other rows and was kept; these are in ${failedFile}`)
  if (run.dryRun) run.reporter.info('Dry run: nothing was sent.')
  else if (counts.sent === 0) run.reporter.info(`Nothing new: ${counts.knownBefore} orders were sent before.`)
  run.printRecord({
    file,
    rows: csv.rows.length,
    ...others,
    failed: failed.length,
    failedFile,
    forecast,
    dryRun: run.dryRun,
  })
  return failed.length ? exitCode.partial : undefined
}
