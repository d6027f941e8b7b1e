import type { ConversionInput } from '@referral/sdk'
import { mapColumns } from '../csv/headers.ts'
import type { Csv, CsvRow } from '../csv/read.ts'
import { usageError } from '../exit.ts'
import { detectMoneyColumn, type MoneyOptions } from './amounts.ts'
import {
  columnNamesOf,
  detectExportFormat,
  type ExportFormat,
  type ExportFormatName,
  exportFormats,
  unpaidReason,
} from './dialects.ts'
import { rejectDoubleDiscount } from './discount.ts'
import { currencyOf, type ParseSettings, type PriceBasis } from './fields.ts'
import { orderHash } from './journal.ts'
import { dropLineItemRows } from './line-rows.ts'
import { isMoney, type ParsedRow, parseOrder } from './order.ts'
import { detectPriceBasis } from './prices.ts'
import { checkTimezone } from './times.ts'

export interface PlanOptions extends MoneyOptions {
  /** The kind of export; detected when left out. */
  from?: ExportFormatName
  /** The zone of times that name none. */
  timezone?: string
  prices?: PriceBasis
  map?: string[]
  currency: string
  /** Orders that are cancelled, refunded or not paid too. */
  anyStatus?: boolean
}

export interface PendingOrder {
  row: CsvRow
  order: ConversionInput
  /** Every coupon of the row. With several, the one to report is chosen when the order is sent. */
  codes: string[]
}

/** A row that cannot be an order, and why. */
export interface FailedRow {
  row: CsvRow
  problem: string
}

export interface ImportPlan {
  dialect: ExportFormat
  settings: ParseSettings
  orders: PendingOrder[]
  failed: FailedRow[]
  /** Rows that only carry one more line item of the order above. */
  lineRows: number
}

/** What the rows of a file mean. Throws when the file as a whole could mean two things. */
export function planImport(csv: Csv, options: PlanOptions): ImportPlan {
  checkTimezone(options.timezone)
  const dialect = exportFormats[options.from ?? detectExportFormat(csv.header)]
  const reading = parseSettingsFor(csv, dialect, options)
  const isAsked = options.map?.some((pair) => /^discountCents=./.test(pair))
  if (!isAsked) rejectDoubleDiscount(csv, reading)
  const { rows: orders, lineRows } = dropLineItemRows(csv, reading.mapping)
  reading.prices = options.prices ?? detectPriceBasis({ ...csv, rows: orders }, reading)
  const unpaid = options.anyStatus ? () => undefined : unpaidReason(dialect, csv.header)
  const read = (row: CsvRow): ParsedRow => {
    const problem = row.problem ?? unpaid(row)
    return problem === undefined ? parseOrder(row, reading) : { row, problem }
  }
  const rows = rejectConflictingRows(orders.map(read))
  return {
    dialect,
    settings: reading,
    lineRows,
    orders: rows.flatMap((read) => (read.order ? [{ row: read.row, order: read.order, codes: read.codes }] : [])),
    failed: rows.flatMap(({ row, problem }) => (problem === undefined ? [] : [{ row, problem }])),
  }
}

function parseSettingsFor({ header, rows }: Csv, dialect: ExportFormat, options: PlanOptions): ParseSettings {
  const mapping = mapColumns(header, columnNamesOf(dialect), options.map)
  for (const field of ['externalOrderId', 'amountCents'])
    if (!mapping[field])
      throw usageError(
        `Which column is ${field}?`,
        `Add --map ${field}=Column. Columns: ${header.filter(Boolean).join(', ')}.`,
      )
  const currency = options.currency.toUpperCase()
  const money: ParseSettings['money'] = {}
  for (const [field, column] of Object.entries(mapping)) {
    if (!isMoney(field)) continue
    const values = rows
      .filter(({ problem }) => problem === undefined)
      .map(({ cells }) => ({ text: cells[column] ?? '', currency: currencyOf(cells, { mapping, currency }) }))
    money[field] = detectMoneyColumn(column, values, options)
  }
  return { mapping, money, currency, timezone: options.timezone ?? dialect.timezone }
}

/** Two rows of one order with different contents: nobody knows which is right, and only one could count. */
function rejectConflictingRows(rows: readonly ParsedRow[]): ParsedRow[] {
  const contents = new Map<string, Set<string>>()
  for (const { order } of rows) {
    if (!order) continue
    const id = String(order.externalOrderId)
    contents.set(id, (contents.get(id) ?? new Set()).add(orderHash(order)))
  }
  return rows.map((read) =>
    read.order && (contents.get(String(read.order.externalOrderId))?.size ?? 0) > 1
      ? { row: read.row, problem: `order ${read.order.externalOrderId} stands in several rows that differ` }
      : read,
  )
}
