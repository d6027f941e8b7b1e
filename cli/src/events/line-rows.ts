import type { ColumnMapping } from '../csv/headers.ts'
import type { Csv, CsvRow } from '../csv/read.ts'
import { isMoney } from './order.ts'

/**
 * Exports with a row for each line item write the order's money once, on its first row. The other rows are no orders:
 * they have no money, and the same order id or, beside the line item, none.
 */
export function dropLineItemRows({ header, rows }: Csv, mapping: ColumnMapping): { rows: CsvRow[]; lineRows: number } {
  const money = Object.entries(mapping).flatMap(([field, column]) => (isMoney(field) ? [column] : []))
  const items = header.filter((name) => /^line ?item/i.test(name))
  const cell = ({ cells }: CsvRow, column = '') => cells[column]?.trim() ?? ''
  let last = ''
  const orders = rows.filter((row) => {
    const id = cell(row, mapping.externalOrderId)
    const isBare = row.problem === undefined && money.every((column) => cell(row, column) === '')
    if (isBare && last && (id ? id === last : items.some((column) => cell(row, column)))) return false
    last = id
    return true
  })
  return { rows: orders, lineRows: rows.length - orders.length }
}
