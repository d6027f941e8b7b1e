import { findColumn } from '../../csv/columns.ts'
import { printColumns, readImportFile, reportImport, sendNew } from '../../csv/import.ts'
import type { Csv } from '../../csv/parse.ts'
import { type ExitCode, notFoundError } from '../../errors.ts'
import { formatMoney } from '../../money.ts'
import { counted } from '../../output/text.ts'
import type { Run } from '../../run.ts'
import { EVIDENCE_FIELDS, type RowImportOptions } from './order-fields.ts'
import { orderHash } from './parse-order.ts'
import { type ImportPlan, type PlanOptions, planImport } from './plan.ts'
import { type Counts, type Forecast, newForecast, OrderSender } from './send-orders.ts'

export type ImportOptions = PlanOptions & RowImportOptions

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
  const [refunded, canceled] = [
    orders.filter((order) => order.refundedCents),
    orders.filter((order) => order.isCanceled),
  ]
  if (refunded.length || canceled.length)
    run.reporter.info(`${counted(refunded.length, 'order')} refunded in full or in part, ${canceled.length} canceled`)
  const counts: Counts = { sent: 0, attributed: 0, knownBefore: 0, refunds: 0, canceled: 0 }
  const forecast = run.dryRun && orders.length > 0 && options.forecast > 0 ? newForecast() : null
  const sender = new OrderSender(run, counts, forecast)
  const pending = await sendNew(run, file, {
    noun: 'order',
    items: orders,
    failed,
    hashOf: orderHash,
    send: (order, connection) => sender.send(order, connection),
    summarize: () => `${counted(counts.sent, 'order')} sent.`,
    sample: (items) => sampleEvenly(items, options.forecast),
    parallel: options.parallel,
    yes: options.yes,
  })
  if (forecast) reportForecast(run, forecast, pending > options.forecast)
  else if (!run.dryRun) counts.knownBefore += orders.length - pending
  return reportImport(run, csv, { file, failed, counts, forecast, nothingNew: nothingNew(counts, failed.length) })
}

function nothingNew({ sent, refunds, canceled, knownBefore }: Counts, failed: number): string | undefined {
  if (sent + refunds + canceled > 0) return undefined
  if (knownBefore === 0 && failed > 0)
    return `No order was sent; ${failed === 1 ? 'the only row' : `all ${failed} rows`} failed.`
  return `Nothing new: ${counted(knownBefore, 'order')} ${knownBefore === 1 ? 'was' : 'were'} already sent.`
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

function reportForecast(run: Run, { orders, attributed, commissionCents }: Forecast, isSample: boolean): void {
  const amounts = Object.entries(commissionCents).map(([currency, cents]) => formatMoney(cents, currency))
  const earning = amounts.length ? `, earning ${amounts.join(' and ')} after refunds` : ''
  run.reporter.info(
    `Of ${counted(orders, isSample ? 'sampled order' : 'order')}, ${attributed} would be attributed${earning}.`,
  )
}

function sampleEvenly<T>(all: readonly T[], sample: number): readonly T[] {
  if (all.length <= sample) return all
  return Array.from({ length: sample }, (_, i) => all[Math.floor((i * all.length) / sample)] as T)
}
