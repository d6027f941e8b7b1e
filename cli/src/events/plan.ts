import type { ConversionInput } from '@referral/sdk'
import { mapColumns } from '../csv/headers.ts'
import type { Csv, CsvRow } from '../csv/read.ts'
import { usage } from '../exit.ts'
import { type MoneyOptions, readMoneyColumn } from './amounts.ts'
import { type Dialect, type DialectName, detectDialect, dialects, fieldsOf, unpaidIn } from './dialects.ts'
import { refuseDiscountTwice } from './discount.ts'
import { currencyOf, type Prices, type Reading } from './fields.ts'
import { orderHash } from './journal.ts'
import { withoutLineRows } from './line-rows.ts'
import { isMoney, type ReadRow, readOrder } from './order.ts'
import { detectPrices } from './prices.ts'
import { checkZone } from './times.ts'

export interface PlanOptions extends MoneyOptions {
  /** The kind of export; detected when left out. */
  from?: DialectName
  /** The zone of times that name none. */
  timezone?: string
  prices?: Prices
  map?: string[]
  currency: string
  /** Orders that are cancelled, refunded or not paid too. */
  anyStatus?: boolean
}

export interface OpenOrder {
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

export interface Plan {
  dialect: Dialect
  reading: Reading
  orders: OpenOrder[]
  failed: FailedRow[]
  /** Rows that only carry one more line item of the order above. */
  lineRows: number
}

/** What the rows of a file mean. Throws when the file as a whole could mean two things. */
export function planImport(csv: Csv, options: PlanOptions): Plan {
  checkZone(options.timezone)
  const dialect = dialects[options.from ?? detectDialect(csv.header)]
  const reading = readingOf(csv, dialect, options)
  const isAsked = options.map?.some((pair) => /^discountCents=./.test(pair))
  if (!isAsked) refuseDiscountTwice(csv, reading)
  const { rows: orders, lineRows } = withoutLineRows(csv, reading.mapping)
  reading.prices = options.prices ?? detectPrices({ ...csv, rows: orders }, reading)
  const unpaid = options.anyStatus ? () => undefined : unpaidIn(dialect, csv.header)
  const read = (row: CsvRow): ReadRow => {
    const problem = row.problem ?? unpaid(row)
    return problem === undefined ? readOrder(row, reading) : { row, problem }
  }
  const rows = refuseTwins(orders.map(read))
  return {
    dialect,
    reading,
    lineRows,
    orders: rows.flatMap((read) => (read.order ? [{ row: read.row, order: read.order, codes: read.codes }] : [])),
    failed: rows.flatMap(({ row, problem }) => (problem === undefined ? [] : [{ row, problem }])),
  }
}

function readingOf({ header, rows }: Csv, dialect: Dialect, options: PlanOptions): Reading {
  const mapping = mapColumns(header, fieldsOf(dialect), options.map)
  for (const field of ['externalOrderId', 'amountCents'])
    if (!mapping[field])
      throw usage(
        `Which column is ${field}?`,
        `Add --map ${field}=Column. Columns: ${header.filter(Boolean).join(', ')}.`,
      )
  const currency = options.currency.toUpperCase()
  const money: Reading['money'] = {}
  for (const [field, column] of Object.entries(mapping)) {
    if (!isMoney(field)) continue
    const values = rows
      .filter(({ problem }) => problem === undefined)
      .map(({ cells }) => ({ text: cells[column] ?? '', currency: currencyOf(cells, { mapping, currency }) }))
    money[field] = readMoneyColumn(column, values, options)
  }
  return { mapping, money, currency, timezone: options.timezone ?? dialect.timezone }
}

/** Two rows of one order with different contents: nobody knows which is right, and only one could count. */
function refuseTwins(rows: readonly ReadRow[]): ReadRow[] {
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
