import type { ReferralError, RefundInput, ReportedRefund } from '@referral/sdk'
import { findColumn, mapColumns } from '../../csv/columns.ts'
import type { FailedRow } from '../../csv/failed-rows.ts'
import { type Connection, printColumns, readImportFile, reportImport, rowProblem, sendNew } from '../../csv/import.ts'
import { contentHash } from '../../csv/journal.ts'
import type { Csv, CsvRow } from '../../csv/parse.ts'
import { type ExitCode, notFoundError, usageError } from '../../errors.ts'
import { formatMoney } from '../../money.ts'
import { counted } from '../../output/text.ts'
import { rateLimitedClient } from '../../rate-limiter.ts'
import type { Run } from '../../run.ts'
import { detectMoneyColumn, type MoneyColumn, type MoneyOptions, toCents } from './money-columns.ts'
import { normalizeStatus } from './order-export-formats.ts'
import { currencyOf, type ParseSettings, type RowImportOptions } from './order-fields.ts'
import { checkTimezone, detectDateFormat, timeProblem, toInstant } from './parse-order.ts'
import { REFUND_WARNINGS } from './report.ts'
import { addCents } from './send-orders.ts'

export interface ImportRefundsOptions extends MoneyOptions, RowImportOptions {
  /** The currency for rows without one. Defaults to USD, as for orders. */
  currency?: string
  /** Whether to import pending and failed refunds as well. */
  anyStatus?: boolean
}

/** Each field's usual column names. Refund IDs are read before order IDs, because both may be `id`. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  externalRefundId: ['refundId', 'refundNumber', 'refund', 'id'],
  externalOrderId: ['orderId', 'order', 'orderNumber', 'orderNo', 'order_id (metadata)', 'orderId (metadata)'],
  amountCents: ['goods', 'refundedGoods', 'amount', 'refundAmount', 'refundedAmount', 'amountRefunded', 'refundTotal'],
  currency: ['currencyCode'],
  reason: ['refundReason', 'note'],
  occurredAt: ['refundedAt', 'refundDate', 'processedAt', 'createdDateUtc', 'createdUtc', 'createdAt', 'date'],
}

const STATUS_COLUMNS = ['refundStatus', 'status', 'state']
const DONE = ['succeeded', 'success', 'successful', 'completed', 'complete', 'processed', 'refunded', 'settled', 'paid']

interface PendingRefund {
  row: CsvRow
  refund: RefundInput & { amountCents: number; currency: string }
}

interface RefundPlan {
  refunds: PendingRefund[]
  failed: FailedRow[]
  mapping: Record<string, string>
  money: MoneyColumn
  currency: string
}

interface Counts {
  recorded: number
  kept: number
  knownBefore: number
}

/** Reports the refunds of a CSV file, before or after their orders. Running it again sends only refunds that are new. */
export async function importRefunds(
  run: Run,
  file: string,
  options: ImportRefundsOptions,
): Promise<ExitCode | undefined> {
  const csv = await readImportFile(run, file)
  if (csv.rows.length === 0) throw notFoundError('The file has no refunds.')
  const plan = planRefunds(csv, options)
  printMapping(run, csv, plan)
  if (!plan.mapping.currency && options.currency === undefined)
    run.reporter.warn(`No currency column: all amounts are in ${plan.currency}. Pass --currency for another.`)
  const { refunds, failed } = plan
  const counts: Counts = { recorded: 0, kept: 0, knownBefore: 0 }
  const forecast: Forecast | null =
    run.dryRun && refunds.length > 0 && options.forecast > 0 ? { refunds: 0, applied: 0, commissionCents: {} } : null
  const earlier: EarlierRefunds = new Map()
  const pending = await sendNew(run, file, {
    noun: 'refund',
    items: refunds,
    failed,
    hashOf: ({ refund }) => contentHash(refund),
    send: (refund, connection) =>
      forecast ? previewRefund(refund, { forecast, earlier }, connection) : sendRefund(run, refund, counts, connection),
    summarize: () => `${counted(counts.recorded + counts.kept, 'refund')} sent.`,
    sample: (items) => items.slice(0, options.forecast),
    // A refund's forecast depends on the refunds before it.
    parallel: forecast ? 1 : options.parallel,
    yes: options.yes,
  })
  if (forecast) reportForecast(run, forecast)
  else if (!run.dryRun) counts.knownBefore += refunds.length - pending
  if (counts.kept > 0)
    run.reporter.info(`${counted(counts.kept, 'refund')} kept until an affiliate is credited for the order`)
  const isNothingNew = counts.recorded + counts.kept === 0 && counts.knownBefore > 0
  const nothingNew = isNothingNew ? `Nothing new: ${counted(counts.knownBefore, 'refund')} already sent.` : undefined
  return reportImport(run, csv, { file, failed, counts, forecast, nothingNew })
}

/** Parses all of a file's rows. @throws {CliError} usage when the file is ambiguous. */
function planRefunds({ header, rows }: Csv, options: ImportRefundsOptions): RefundPlan {
  const mapping = mapColumns(header, FIELDS, options.map)
  for (const field of ['externalOrderId', 'externalRefundId', 'amountCents'])
    if (!mapping[field])
      throw usageError(
        `No column for ${field} was found.`,
        `Add --map ${field}=Column. Columns: ${header.filter(Boolean).join(', ')}.`,
      )
  checkTimezone(options.timeZone)
  const dateFormat = options.dateFormat ?? detectDateFormat(rows, [mapping.occurredAt])
  const timezone = options.timeZone ?? (/utc\W*$/i.test(mapping.occurredAt ?? '') ? 'UTC' : undefined)
  const currency = (options.currency ?? 'USD').toUpperCase()
  const amountColumn = mapping.amountCents as string
  const values = rows.map(({ cells }) => ({
    text: withoutMinus(cells[amountColumn] ?? ''),
    currency: currencyOf(cells, { mapping, currency }),
  }))
  const money = detectMoneyColumn(amountColumn, values, options)
  const statusColumn = options.anyStatus ? undefined : findColumn(header, STATUS_COLUMNS)
  const refunds: PendingRefund[] = []
  const failed: FailedRow[] = []
  for (const row of rows) {
    const refund = parseRefund(row, {
      mapping,
      money,
      currency,
      statusColumn,
      timezone,
      dateFormat,
    })
    if (typeof refund === 'string') failed.push({ row, problem: refund })
    else refunds.push({ row, refund })
  }
  return { refunds: rejectConflictingRows(refunds, failed), failed, mapping, money, currency }
}

/** Exports show refunds with or without a minus sign. */
const withoutMinus = (text: string) => text.trim().replace(/^[-−]\s*/, '')

/** Returns the refund of a row, or its problem. */
function parseRefund(
  row: CsvRow,
  {
    mapping,
    money,
    currency: fallback,
    statusColumn,
    ...times
  }: Pick<RefundPlan, 'mapping' | 'money' | 'currency'> & {
    statusColumn: string | undefined
  } & Pick<ParseSettings, 'timezone' | 'dateFormat'>,
): PendingRefund['refund'] | string {
  if (row.problem !== undefined) return row.problem
  const cell = (field: string) => row.cells[mapping[field] ?? '']?.trim() ?? ''
  const [externalOrderId, externalRefundId, amount] = ['externalOrderId', 'externalRefundId', 'amountCents'].map(cell)
  if (!externalOrderId) return 'no order id'
  if (!externalRefundId) return 'no refund id'
  if (!amount) return 'no amount'
  const status = statusColumn === undefined ? undefined : (row.cells[statusColumn]?.trim() ?? '')
  if (status !== undefined && !DONE.includes(normalizeStatus(status)))
    return status === '' ? `${statusColumn} is empty` : `this refund is ${status}; use --any-status if it was paid out`
  const currency = currencyOf(row.cells, { mapping, currency: fallback })
  if (!/^[A-Z]{3}$/.test(currency)) return `${currency} is not a currency`
  const amountCents = toCents(withoutMinus(amount), money, currency)
  if (typeof amountCents !== 'number') return amountCents.problem
  const occurredAt = cell('occurredAt') ? toInstant(cell('occurredAt'), times) : undefined
  const problem = timeProblem(occurredAt, times)
  if (problem !== undefined) return problem
  const reason = cell('reason')
  const optional = { ...(reason && { reason }), ...(occurredAt && { occurredAt }) }
  return { externalOrderId, externalRefundId, amountCents, currency, ...optional }
}

/** Rejects rows for the same refund with different content, because only one of them would count. */
function rejectConflictingRows(refunds: PendingRefund[], failed: FailedRow[]): PendingRefund[] {
  const keyOf = ({ refund }: PendingRefund) => JSON.stringify([refund.externalOrderId, refund.externalRefundId])
  const groups = Map.groupBy(refunds, keyOf)
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    if (new Set(group.map(({ refund }) => contentHash(refund))).size === 1) return first ? [first] : []
    const problem = `refund ${first?.refund.externalRefundId} is in several rows that differ; add --map externalRefundId=Column for a column with unique ids`
    failed.push(...group.map(({ row }) => ({ row, problem })))
    return []
  })
}

async function sendRefund(
  run: Run,
  { row, refund }: PendingRefund,
  counts: Counts,
  { client, limiter, signal }: Connection,
): Promise<string | undefined> {
  const { rateLimited } = rateLimitedClient(client, limiter)
  try {
    const { data, idempotentReplayed } = await rateLimited(() =>
      client.refunds.create(refund, { maxRetries: 5, signal }).withResponse(),
    )
    const conflict = conflictOf(refund, data)
    if (conflict) return conflict
    if (data.warning === 'refund_differs') return REFUND_WARNINGS.refund_differs
    if (data.warning) run.reporter.warn(`line ${row.line}: ${REFUND_WARNINGS[data.warning] ?? data.warning}`)
    if (!data.changed || idempotentReplayed) counts.knownBefore += 1
    else if (data.outcome === 'applied') counts.recorded += 1
    else counts.kept += 1
    return undefined
  } catch (error) {
    return rowProblem(error as ReferralError)
  }
}

/** What a sample of the refunds would change. */
interface Forecast {
  /** The sample's size. */
  refunds: number
  /** How many refunds affect a commission. */
  applied: number
  /** The change to these commissions, in cents by currency. */
  commissionCents: Record<string, number>
}

/** The amounts of earlier refunds in the file, and the change they make, by order. */
type EarlierRefunds = Map<string, { amountCents: number; commissionCents: number }>

/** Evaluates a refund together with the order's earlier ones, because the change depends only on their total. */
async function previewRefund(
  { refund }: PendingRefund,
  { forecast, earlier }: { forecast: Forecast; earlier: EarlierRefunds },
  { client, limiter, signal }: Connection,
): Promise<string | undefined> {
  const { rateLimited } = rateLimitedClient(client, limiter)
  const before = earlier.get(refund.externalOrderId) ?? { amountCents: 0, commissionCents: 0 }
  const amountCents = before.amountCents + refund.amountCents
  try {
    const data = await rateLimited(() => client.refunds.create({ ...refund, amountCents }, { signal, dryRun: true }))
    const conflict = conflictOf(refund, data)
    if (conflict) return conflict
    forecast.refunds += 1
    if (data.outcome !== 'applied' || !data.commission || !data.refund || !data.changed) return undefined
    const { commissionCents } = data.refund
    forecast.applied += 1
    addCents(forecast.commissionCents, data.commission.currency, commissionCents - before.commissionCents)
    earlier.set(refund.externalOrderId, { amountCents, commissionCents })
    return undefined
  } catch (error) {
    return rowProblem(error as ReferralError)
  }
}

/** A refund ID counts once. */
function conflictOf(
  { externalRefundId, amountCents, currency }: PendingRefund['refund'],
  { changed, refund }: Pick<ReportedRefund, 'changed' | 'refund'>,
): string | undefined {
  const recordedCents = refund?.amountCents ?? amountCents
  if (changed || recordedCents === amountCents) return undefined
  return `refund ${externalRefundId} is already recorded with ${formatMoney(recordedCents, currency)}; a refund counts once`
}

function reportForecast(run: Run, { refunds, applied, commissionCents }: Forecast): void {
  const amounts = Object.entries(commissionCents).map(([currency, cents]) => formatMoney(cents, currency))
  const change = amounts.length ? `, by ${amounts.join(' and ')}` : ''
  run.reporter.info(`Of ${counted(refunds, 'refund')}, ${applied} would change a commission${change}.`)
}

function printMapping(run: Run, { rows }: Csv, { mapping, money, currency }: RefundPlan): void {
  const unit = money.unit === 'cents' ? 'cents' : `decimal ${money.decimal}`
  const lines = Object.entries(mapping).map(([field, column]) => ({
    field,
    column,
    format: field === 'amountCents' ? unit : '',
    first: rows[0]?.cells[column] ?? '',
  }))
  if (!mapping.currency) lines.push({ field: 'currency', column: '(none)', format: '', first: currency })
  printColumns(run, lines)
}
