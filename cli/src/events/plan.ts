import type { ConversionInput } from '@referral/sdk'
import { mapColumns } from '../csv/headers.ts'
import type { Csv, CsvRow } from '../csv/read.ts'
import { usage } from '../exit.ts'
import { type MoneyOptions, readMoneyColumn } from './amounts.ts'
import { refuseDiscountTwice } from './discount.ts'
import { ORDER_FIELDS } from './fields.ts'
import { orderHash } from './journal.ts'
import { withoutLineRows } from './line-rows.ts'
import { currencyOf, isMoney, type Reading, type ReadRow, readOrder } from './order.ts'
import { unsettledBy } from './unsettled.ts'

export interface PlanOptions extends MoneyOptions {
  map?: string[]
  currency: string
  /** Orders that are cancelled, refunded or not paid too. */
  anyStatus?: boolean
}

export interface OpenOrder {
  row: CsvRow
  order: ConversionInput
}

/** A row that cannot be an order, and why. */
export interface FailedRow {
  row: CsvRow
  problem: string
}

export interface Plan {
  reading: Reading
  orders: OpenOrder[]
  failed: FailedRow[]
  /** Rows that only carry one more line item of the order above. */
  lineRows: number
}

/** What the rows of a file mean. Throws when the file as a whole could mean two things. */
export function planImport(csv: Csv, options: PlanOptions): Plan {
  const reading = readingOf(csv, options)
  const isAsked = options.map?.some((pair) => /^discountCents=./.test(pair))
  if (!isAsked) refuseDiscountTwice(csv, reading)
  const { rows: orders, lineRows } = withoutLineRows(csv, reading.mapping)
  const unsettled = options.anyStatus ? () => undefined : unsettledBy(csv.header)
  const read = (row: CsvRow): ReadRow => {
    const problem = row.problem ?? unsettled(row)
    return problem === undefined ? readOrder(row, reading) : { row, problem }
  }
  const rows = refuseTwins(orders.map(read))
  return {
    reading,
    lineRows,
    orders: rows.flatMap(({ row, order }) => (order ? [{ row, order }] : [])),
    failed: rows.flatMap(({ row, problem }) => (problem === undefined ? [] : [{ row, problem }])),
  }
}

function readingOf({ header, rows }: Csv, options: PlanOptions): Reading {
  const mapping = mapColumns(header, ORDER_FIELDS, options.map)
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
  return { mapping, money, currency }
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
