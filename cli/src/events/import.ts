import { basename } from 'node:path'
import { confirm } from '../ask.ts'
import { type Csv, readCsv } from '../csv/read.ts'
import { type Exit, exit } from '../exit.ts'
import type { Run } from '../run.ts'
import { isInteractive } from '../world.ts'
import { writeFailed } from './failed.ts'
import { Journal } from './journal.ts'
import { type PlanOptions, planImport } from './plan.ts'
import { preview } from './preview.ts'
import { type Counts, Sending } from './sending.ts'

export interface ImportOptions extends PlanOptions {
  parallel: number
  yes?: boolean
}

/** Reports the orders of a file, each once, however often it is run. */
export async function importOrders(run: Run, file: string, options: ImportOptions): Promise<Exit | undefined> {
  const csv = readCsv(file)
  const { reading, orders, failed, lineRows } = planImport(csv, options)
  preview(run, csv, reading)
  if (lineRows)
    run.talk.note(`left out, because they only carry one more line item of the order above: ${lineRows} of the rows`)
  const counts: Counts = { sent: 0, attributed: 0, knownBefore: 0, failed }
  if (!run.dryRun) {
    const journal = new Journal(file, { baseUrl: run.settings.baseUrl, apiKey: run.apiKey })
    const open = orders.filter(({ order }) => !journal.has(order))
    counts.knownBefore = orders.length - open.length
    // A pipe is not asked: the mapping is strict, and what is ambiguous was refused.
    if (open.length && isInteractive(run.world)) await confirm(run.world, `Report ${open.length} orders?`, options.yes)
    if (open.length) journal.open()
    if (open.length) await new Sending(run, counts, journal).sendAll(open, options.parallel)
  }
  return report(run, csv, { file, counts })
}

function report(run: Run, csv: Csv, { file, counts }: { file: string; counts: Counts }): Exit | undefined {
  const { failed, ...others } = counts
  const failedFile = failed.length && !run.dryRun ? writeFailed(csv, file, failed) : null
  for (const { row, problem } of failed.slice(0, 5)) run.talk.warn(`line ${row.line}: ${problem}`)
  if (failed.length > 5) run.talk.warn(`and ${failed.length - 5} more`)
  if (failedFile && basename(failedFile) !== 'failed.csv')
    run.talk.note(`failed.csv holds other rows and was kept; these are in ${failedFile}`)
  if (run.dryRun) run.talk.note('Dry run: nothing was sent.')
  else if (counts.sent === 0) run.talk.note(`Nothing new: ${counts.knownBefore} orders were sent before.`)
  run.record({ file, rows: csv.rows.length, ...others, failed: failed.length, failedFile, dryRun: run.dryRun })
  return failed.length ? exit.partial : undefined
}
