import { isInteractive } from '../../context.ts'
import { findColumn } from '../../csv/columns.ts'
import type { Csv } from '../../csv/parse.ts'
import { type ExitCode, exitCode, notFoundError } from '../../errors.ts'
import { formatMoney } from '../../money.ts'
import { counted } from '../../output/text.ts'
import { confirm } from '../../prompt.ts'
import type { Run } from '../../run.ts'
import { printColumns, readImportFile, reportFailedRows } from './import-file.ts'
import { ImportJournal, orderHash } from './journal.ts'
import { EVIDENCE_FIELDS } from './order-fields.ts'
import { type ImportPlan, type PendingOrder, type PlanOptions, planImport } from './plan.ts'
import { type Counts, type Forecast, newForecast, OrderSender } from './send-orders.ts'

export interface ImportOptions extends PlanOptions {
  parallel: number
  /** The number of orders that a dry run sends to the service for a preview. */
  forecast: number
  yes?: boolean
}

/** Reports the orders of a CSV file, with their refunds and cancellations. Running it again sends only what is new. */
export async function importOrders(run: Run, file: string, options: ImportOptions): Promise<ExitCode | undefined> {
  const csv = await readImportFile(run, file)
  if (csv.rows.length === 0) throw notFoundError('The file has no orders.')
  const plan = planImport(csv, options)
  const { format, orders, failed, lineRows, repeatedRows, failedPayments } = plan
  run.reporter.info(`format: ${format.title}${options.from ? '' : '; use --from for another'}`)
  printMapping(run, csv, plan)
  warnAboutCurrency(run, plan, options.currency)
  if (lineRows) run.reporter.info(`skipped ${counted(lineRows, 'row')} with only another line item of the order above`)
  if (failedPayments) run.reporter.info(`skipped ${counted(failedPayments, 'failed payment')}`)
  if (repeatedRows) run.reporter.info(`skipped ${counted(repeatedRows, 'row')} repeating an order of an earlier row`)
  const [refunded, canceled] = [orders.filter((one) => one.refundedCents), orders.filter((one) => one.isCanceled)]
  if (refunded.length || canceled.length)
    run.reporter.info(`${counted(refunded.length, 'order')} refunded in full or in part, ${canceled.length} canceled`)
  const counts: Counts = { sent: 0, attributed: 0, knownBefore: 0, refunds: 0, canceled: 0, failed }
  const forecast = run.dryRun && orders.length > 0 && options.forecast > 0 ? newForecast() : null
  if (forecast || !run.dryRun) await send(run, file, { orders, counts, forecast, options })
  return report(run, csv, { file, counts, forecast })
}

function report(
  run: Run,
  csv: Csv,
  { file, counts, forecast }: { file: string; counts: Counts; forecast: Forecast | null },
): ExitCode | undefined {
  const { failed, ...others } = counts
  const failedFile = reportFailedRows(run, csv, file, failed)
  if (run.dryRun) run.reporter.info('Dry run: nothing was sent.')
  else if (counts.sent + counts.knownBefore + counts.refunds + counts.canceled === 0 && failed.length > 0)
    run.reporter.info(
      `No order was sent; ${failed.length === 1 ? 'the only row' : `all ${failed.length} rows`} failed.`,
    )
  else if (counts.sent + counts.refunds + counts.canceled === 0)
    run.reporter.info(
      `Nothing new: ${counted(counts.knownBefore, 'order')} ${counts.knownBefore === 1 ? 'was' : 'were'} already sent.`,
    )
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

function printMapping(run: Run, { header, rows }: Csv, { format, settings, unusedColumns }: ImportPlan): void {
  const { mapping, money, fallbackDates, currency } = settings
  const formatOf = (field: string) => {
    const column = money[field]
    return column ? (column.unit === 'cents' ? 'cents' : `decimal ${column.decimal}`) : ''
  }
  const lines = Object.entries(mapping).map(([field, column]) => ({
    field,
    column,
    format: formatOf(field),
    first: rows[0]?.cells[column] ?? '',
  }))
  if (!mapping.occurredAt) lines.push({ field: 'occurredAt', column: '(none)', format: '', first: 'now' })
  if (!mapping.currency) lines.push({ field: 'currency', column: '(none)', format: '', first: currency })
  printColumns(run, lines)
  if (mapping.occurredAt && fallbackDates.length)
    run.reporter.info(`orders without ${mapping.occurredAt} are dated by ${fallbackDates.join(' or ')}`)
  if (unusedColumns.length) run.reporter.info(`unused columns: ${unusedColumns.join(', ')}`)
  if (!mapping.occurredAt) run.reporter.warn('No date column: every order is dated now. Add --map occurredAt=Column.')
  if (!mapping.customerEmail)
    run.reporter.warn(
      'No email column: orders that affiliates place themselves earn a commission. Add --map customerEmail=Column.',
    )
  if (!findColumn(header, format.statusColumns))
    run.reporter.warn('No status column: every order counts as paid. Add --map status=Column.')
  if (!EVIDENCE_FIELDS.some((field) => mapping[field]))
    run.reporter.warn('No column identifies an affiliate: none of these orders can be attributed.')
}

/** An omitted --currency is easily overlooked in a file without currencies, so the default is named. */
function warnAboutCurrency(run: Run, { settings, orders }: ImportPlan, option: string | undefined): void {
  if (option !== undefined) return
  const column = settings.mapping.currency
  const without = orders.filter(({ row }) => column === undefined || !row.cells[column]?.trim()).length
  if (column === undefined)
    run.reporter.warn(`No currency column: all amounts are in ${settings.currency}. Pass --currency for another.`)
  else if (without > 0)
    run.reporter.warn(
      `${column} is empty in ${without} orders: their amounts are in ${settings.currency}. Pass --currency for another.`,
    )
}

interface SendInput {
  orders: readonly PendingOrder[]
  counts: Counts
  forecast: Forecast | null
  options: ImportOptions
}

/** Sends the orders that no earlier run has sent, or with a forecast, evaluates a sample of them in the same way. */
async function send(run: Run, file: string, { orders, counts, forecast, options }: SendInput): Promise<void> {
  const journal = new ImportJournal(file, { baseUrl: run.settings.baseUrl, apiKey: run.apiKey })
  const pending = journal.selectNew(orders, orderHash, run.reporter)
  if (forecast) {
    const sample = sampleEvenly(pending, options.forecast)
    await new OrderSender(run, { counts, journal, forecast }).sendAll(sample, options.parallel)
    reportForecast(run, forecast, pending.length > sample.length)
    return
  }
  counts.knownBefore = orders.length - pending.length
  if (pending.length === 0) return
  // Without a terminal no confirmation is needed, because ambiguous files are rejected.
  if (isInteractive(run.context)) await confirm(run.context, `Report ${counted(pending.length, 'order')}?`, options.yes)
  journal.ensureWritable()
  await new OrderSender(run, { counts, journal, forecast }).sendAll(pending, options.parallel)
}

function reportForecast(run: Run, { orders, attributed, commissionCents }: Forecast, isSample: boolean): void {
  const amounts = Object.entries(commissionCents).map(([currency, cents]) => formatMoney(cents, currency))
  const earning = amounts.length ? `, earning ${amounts.join(' and ')} after refunds` : ''
  run.reporter.info(
    `Of ${counted(orders, isSample ? 'sampled order' : 'order')}, ${attributed} would be attributed${earning}.`,
  )
}

function sampleEvenly<T>(all: readonly T[], sample: number): T[] {
  if (all.length <= sample) return [...all]
  return Array.from({ length: sample }, (_, i) => all[Math.floor((i * all.length) / sample)] as T)
}
