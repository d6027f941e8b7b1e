import { type ColumnMapping, findColumn, mapColumns } from '../../csv/columns.ts'
import type { FailedRow } from '../../csv/failed-rows.ts'
import type { Csv, CsvRow } from '../../csv/parse.ts'
import { usageError } from '../../errors.ts'
import { detectMoneyColumn, type MoneyOptions } from './money-columns.ts'
import {
  columnNamesOf,
  detectOrderExportFormat,
  failedPayments,
  isNoRefund,
  laterStatus,
  normalizeStatus,
  type OrderExportFormat,
  type OrderExportFormatName,
  orderExportFormats,
  paymentCheck,
  refundAmountCheck,
  refundCheck,
} from './order-export-formats.ts'
import { currencyOf, type DateFormat, type ParseSettings, type PriceBasis, type RefundBasis } from './order-fields.ts'
import {
  checkTimezone,
  detectDateFormat,
  isDated,
  isMoney,
  orderHash,
  type ParsedOrder,
  type ParsedRow,
  parseCanceled,
  parseOrder,
} from './parse-order.ts'
import { detectPriceBasis, rejectDoubleDiscount, TOTAL_COLUMNS } from './totals.ts'

export interface PlanOptions extends MoneyOptions {
  /** Detected from the header by default. */
  from?: OrderExportFormatName
  /** For times without an offset. */
  timeZone?: string
  dateFormat?: DateFormat
  prices?: PriceBasis
  /** `status=Column` names the payment status column. */
  map?: string[]
  /** More words that mean paid, in addition to the format's own. */
  paidStatus?: string[]
  /** Of rows without a currency. Defaults to USD, as in the API. */
  currency?: string
  /** Whether to import canceled, disputed and unpaid orders too. */
  anyStatus?: boolean
  /** Reports refunds and cancellations too. Otherwise such orders are rejected. */
  refunds?: RefundBasis
}

export interface PendingOrder extends ParsedOrder {
  row: CsvRow
}

export interface ImportPlan {
  format: OrderExportFormat
  settings: ParseSettings
  orders: PendingOrder[]
  failed: FailedRow[]
  /** The number of rows that only contain another line item of the order above. */
  lineRows: number
  /** The number of rows that repeat an earlier row's order. */
  repeatedRows: number
  /** The number of payments that failed permanently. */
  failedPayments: number
  /** Columns that are not read. */
  unusedColumns: string[]
}

/** Parses all rows of a file. @throws {CliError} usage when the file is ambiguous. */
export function planImport(csv: Csv, options: PlanOptions): ImportPlan {
  checkTimezone(options.timeZone)
  const format = formatFor(csv.header, options)
  const settings = parseSettingsFor(csv, format, options)
  const isDiscountMapped = options.map?.some((pair) => /^discountCents=./.test(pair))
  if (!isDiscountMapped) rejectDoubleDiscount(csv, settings)
  const isFailedPayment = options.anyStatus ? () => false : failedPayments(format, csv.header)
  const paid = csv.rows.filter((row) => !isFailedPayment(row))
  const { rows, lineItems } = dropLineItemRows({ ...csv, rows: paid }, settings.mapping)
  settings.prices = options.prices ?? detectPriceBasis({ ...csv, rows }, settings)
  const mapped = Object.values(settings.mapping)
  const refunds = options.refunds
    ? refundAmountCheck(format, csv.header, settings.mapping.refundedCents)
    : refundCheck(format, csv.header, settings.mapping)
  const acceptsRefunds = options.refunds !== undefined
  const payments = options.anyStatus ? undefined : paymentCheck(format, csv.header, { acceptsRefunds })
  const statusOf = acceptsRefunds ? laterStatus(format, csv.header) : () => undefined
  const idOf = ({ cells }: CsvRow) => cells[settings.mapping.externalOrderId ?? '']?.trim() ?? ''
  // A refund in one of an order's rows, such as a line item's, applies to all its rows.
  const refundByOrder = new Map<string, string>()
  for (const { row, id } of [...rows.map((row) => ({ row, id: idOf(row) })), ...lineItems]) {
    const refund = row.problem === undefined ? refunds.problemOf(row) : undefined
    if (id !== '' && refund !== undefined && !refundByOrder.has(id)) refundByOrder.set(id, refund)
  }
  const parse = (row: CsvRow): ParsedRow => {
    const status = row.problem === undefined ? statusOf(row) : undefined
    if (status === 'canceled') return parseCanceled(row, settings)
    const problem = row.problem ?? refunds.problemOf(row) ?? refundByOrder.get(idOf(row)) ?? payments?.problemOf(row)
    return problem === undefined ? parseOrder(row, settings, status === 'refunded') : { row, problem }
  }
  const { rows: all, repeatedRows } = mergeRepeatedRows(rows.map(parse))
  const read = new Set([
    ...mapped,
    ...settings.fallbackDates,
    ...refunds.columns,
    ...(payments?.columns ?? []),
    settings.totalColumn,
  ])
  return {
    format,
    settings,
    lineRows: lineItems.length,
    repeatedRows,
    failedPayments: csv.rows.length - paid.length,
    unusedColumns: csv.header.filter((name) => name !== '' && !read.has(name)),
    orders: all.flatMap(({ row, parsed }) => (parsed ? [{ row, ...parsed }] : [])),
    failed: all.flatMap(({ row, problem }) => (problem === undefined ? [] : [{ row, problem }])),
  }
}

const isStatusPair = (pair: string) => pair.startsWith('status=')

/** The format of a file, with the status column and the paid statuses of the options. */
function formatFor(header: readonly string[], { from, map = [], paidStatus = [] }: PlanOptions): OrderExportFormat {
  const format = orderExportFormats[from ?? detectOrderExportFormat(header)]
  const pairs = map.filter(isStatusPair)
  const statusColumns = pairs.length ? Object.values(mapColumns(header, { status: [] }, pairs)) : format.statusColumns
  return { ...format, statusColumns, paid: [...format.paid, ...paidStatus.map(normalizeStatus)] }
}

function parseSettingsFor({ header, rows }: Csv, format: OrderExportFormat, options: PlanOptions): ParseSettings {
  const names = columnNamesOf(format, { withRefunds: options.refunds !== undefined })
  // Other formats have the order's creator in this column.
  const created = findColumns(header, ['created']).filter((name) =>
    rows.some(({ cells }) => isDated(cells[name] ?? '')),
  )
  const dateColumns = [...(names.occurredAt ?? []), ...created]
  const known = { ...names, occurredAt: dateColumns, status: [] }
  const { status: _, ...mapping } = mapColumns(header, known, options.map)
  for (const field of ['externalOrderId', 'amountCents'])
    if (!mapping[field])
      throw usageError(
        `No column for ${field} was found.`,
        `Add --map ${field}=Column. Columns: ${header.filter(Boolean).join(', ')}.`,
      )
  const currency = (options.currency ?? 'USD').toUpperCase()
  const money: ParseSettings['money'] = {}
  for (const [field, column] of Object.entries(mapping)) {
    if (!isMoney(field) || (field === 'refundedCents' && !options.refunds)) continue
    const values = rows
      .filter(({ problem }) => problem === undefined)
      .map(({ cells }) => ({ text: cells[column] ?? '', currency: currencyOf(cells, { mapping, currency }) }))
      // Exports write 0 for no refund even if other amounts have decimals.
      .filter(({ text }) => field !== 'refundedCents' || !isNoRefund(text))
    money[field] = detectMoneyColumn(column, values, options)
  }
  const isDateChosen = options.map?.some((pair) => pair.startsWith('occurredAt='))
  const fallbackDates = isDateChosen ? [] : findColumns(header, dateColumns)
  const mapped = Object.values(mapping)
  const otherDates = fallbackDates.filter((column) => !mapped.includes(column))
  return {
    mapping,
    money,
    fallbackDates: otherDates,
    currency,
    timezone: options.timeZone ?? format.timezone,
    dateFormat: options.dateFormat ?? detectDateFormat(rows, [mapping.occurredAt, ...otherDates]),
    refunds: options.refunds,
    totalColumn: findColumn(header, TOTAL_COLUMNS),
  }
}

/** Keeps the first of an order's identical rows, and rejects rows that differ, because only one of them would count. */
function mergeRepeatedRows(rows: readonly ParsedRow[]): { rows: ParsedRow[]; repeatedRows: number } {
  const hashesById = new Map<string, Set<string>>()
  for (const { parsed } of rows) {
    if (!parsed) continue
    const id = String(parsed.order.externalOrderId)
    hashesById.set(id, (hashesById.get(id) ?? new Set()).add(orderHash(parsed)))
  }
  const seen = new Set<string>()
  const merged = rows.flatMap((row): ParsedRow[] => {
    const id = row.parsed?.order.externalOrderId
    if (id === undefined) return [row]
    if ((hashesById.get(String(id))?.size ?? 0) > 1)
      return [{ row: row.row, problem: `order ${id} is in several rows that differ` }]
    if (seen.has(String(id))) return []
    seen.add(String(id))
    return [row]
  })
  return { rows: merged, repeatedRows: rows.length - merged.length }
}

const findColumns = (header: readonly string[], names: readonly string[]): string[] =>
  names.flatMap((name) => findColumn(header, [name]) ?? [])

/**
 * Removes the rows of further line items. Exports with one row per line item have the order's amounts only in its first
 * row. The other rows repeat the order ID or have none.
 */
function dropLineItemRows(
  { header, rows }: Csv,
  mapping: ColumnMapping,
): { rows: CsvRow[]; lineItems: { row: CsvRow; id: string }[] } {
  const moneyColumns = Object.entries(mapping).flatMap(([field, column]) => (isMoney(field) ? [column] : []))
  const itemColumns = header.filter((name) => /^line ?item/i.test(name))
  const cell = ({ cells }: CsvRow, column = '') => cells[column]?.trim() ?? ''
  const lineItems: { row: CsvRow; id: string }[] = []
  let lastId = ''
  const orders = rows.filter((row) => {
    const id = cell(row, mapping.externalOrderId)
    const hasNoMoney = row.problem === undefined && moneyColumns.every((column) => cell(row, column) === '')
    if (hasNoMoney && lastId && (id ? id === lastId : itemColumns.some((column) => cell(row, column)))) {
      lineItems.push({ row, id: lastId })
      return false
    }
    lastId = id
    return true
  })
  return { rows: orders, lineItems }
}
