import { findColumn } from '../csv/headers.ts'
import type { Csv, CsvRow } from '../csv/read.ts'
import { usageError } from '../exit.ts'
import { toCents } from './amounts.ts'
import { currencyOf, ORDER_FIELDS, type ParseSettings } from './fields.ts'

const TOTALS = ['total', 'totalPrice', 'grandTotal', 'orderTotal', 'totalAmount']

/**
 * Many shops export the goods after the discount, and the discount beside them. The total tells: where it is the goods
 * with shipping and tax and nothing less, taking the discount off would take it off twice.
 */
export function rejectDoubleDiscount({ header, rows }: Csv, reading: ParseSettings): void {
  const { amountCents: amount, discountCents: discount } = reading.mapping
  const total = findColumn(header, TOTALS)
  if (!amount || !discount || !total) return
  const extras = ['shippingCents', 'taxCents'].map(
    (field) => reading.mapping[field] ?? findColumn(header, [field, ...(ORDER_FIELDS[field] ?? [])]),
  )
  const fits = rows.map((row) => {
    const read = reader(row, reading)
    const off = read(discount)
    const sums = possibleTotals(read(amount), extras.map(read))
    const all = row.cells[total]?.trim() && off > 0 ? read(total) : Number.NaN
    return { after: sums.includes(all), before: sums.includes(all + off) }
  })
  const after = fits.filter((one) => one.after && !one.before).length
  const before = fits.filter((one) => one.before && !one.after).length
  if (after === 0 || before > after) return
  throw usageError(
    `${amount} is after the discount already (${total} is ${amount} with shipping and tax in ${after} rows): ${discount} would be taken off twice.`,
    `Add --map discountCents= to leave the discount out, or --map amountCents=Column with the goods before discount; --map 'discountCents=${discount}' takes it off all the same.`,
  )
}

/** What a total may be made of: prices with tax in them, or without. */
const possibleTotals = (goods: number, [shipping = 0, tax = 0]: readonly number[]): number[] =>
  [goods, goods + shipping, goods + tax, goods + shipping + tax].filter(Number.isFinite)

/** Cents of a cell; 0 when it is empty or there is no such column, no number when it cannot be read. */
function reader({ cells }: CsvRow, reading: ParseSettings): (column: string | undefined) => number {
  const { amountCents: form } = reading.money
  const currency = currencyOf(cells, reading)
  return (column) => {
    const text = column ? (cells[column]?.trim() ?? '') : ''
    if (text === '' || !form) return 0
    const cents = toCents(text, form, currency)
    return typeof cents === 'number' ? cents : Number.NaN
  }
}
