// What the total of each order shows about a file's prices: whether the discount is already deducted, and whether
// they include tax.
import { findColumn } from '../../csv/columns.ts'
import type { Csv, CsvRow } from '../../csv/parse.ts'
import { usageError } from '../../errors.ts'
import { toCents } from './money-columns.ts'
import { currencyOf, ORDER_FIELDS, type ParseSettings, type PriceBasis } from './order-fields.ts'

export const TOTAL_COLUMNS = ['total', 'orderTotal', 'orderTotalAmount', 'totalPrice', 'grandTotal', 'totalAmount']

/**
 * Rejects a file whose amounts are after the discount, as in many exports. If the total equals the amount with shipping
 * and tax, deducting the discount again would be wrong.
 *
 * @throws {CliError} usage
 */
export function rejectDoubleDiscount({ header, rows }: Csv, settings: ParseSettings): void {
  const { amountCents: amount, discountCents: discount } = settings.mapping
  const total = findColumn(header, TOTAL_COLUMNS)
  if (!amount || !discount || !total) return
  const extras = ['shippingCents', 'taxCents'].map(
    (field) => settings.mapping[field] ?? findColumn(header, [field, ...(ORDER_FIELDS[field] ?? [])]),
  )
  const matches = rows.map((row) => {
    const cents = (column: string | undefined) => centsIn(row, settings, column)
    const off = cents(discount)
    const sums = possibleTotals(cents(amount), extras.map(cents))
    const actual = row.cells[total]?.trim() && off > 0 ? cents(total) : Number.NaN
    return { after: sums.includes(actual), before: sums.includes(actual + off) }
  })
  const after = matches.filter((match) => match.after && !match.before).length
  const before = matches.filter((match) => match.before && !match.after).length
  if (after === 0 || before > after) return
  throw usageError(
    `${amount} is already after the discount: in ${after} rows ${total} is ${amount} with shipping and tax. ${discount} would be deducted twice.`,
    `Add --map discountCents= to ignore the discount, or --map amountCents=Column for the amount before discount. --map 'discountCents=${discount}' deducts it anyway.`,
  )
}

/** Totals with and without shipping and tax, because prices may include tax. */
const possibleTotals = (goods: number, [shipping = 0, tax = 0]: readonly number[]): number[] =>
  [goods, goods + shipping, goods + tax, goods + shipping + tax].filter(Number.isFinite)

/**
 * Detects whether prices include tax: the total is then goods and shipping, without the tax on top.
 *
 * @throws {CliError} usage when the rows disagree
 */
export function detectPriceBasis({ header, rows }: Csv, settings: ParseSettings): PriceBasis {
  const { amountCents: amount, taxCents: tax } = settings.mapping
  const total = findColumn(header, TOTAL_COLUMNS)
  if (!amount || !tax || !total) return 'without-tax'
  let [included, added] = [0, 0]
  for (const row of rows) {
    const cents = (column: string | undefined) => centsIn(row, settings, column)
    const taxCents = cents(tax)
    if (!(taxCents > 0) || !row.cells[total]?.trim()) continue
    const net = cents(amount) - cents(settings.mapping.discountCents) + cents(settings.mapping.shippingCents)
    if (net === cents(total)) included++
    else if (net + taxCents === cents(total)) added++
  }
  if (included > 0 && added > 0)
    throw usageError(
      `Prices include tax in ${included} rows and exclude it in ${added} rows.`,
      'Pass --prices with-tax or --prices without-tax.',
    )
  return included > 0 ? 'with-tax' : 'without-tax'
}

/**
 * Returns the amount without the tax that it includes. Exports have one tax for goods and shipping, so the goods get
 * their proportional share, rounded half up.
 */
export function excludeTax({
  amountCents,
  discountCents = 0,
  shippingCents = 0,
  taxCents = 0,
}: {
  amountCents: number
  discountCents?: number
  shippingCents?: number
  taxCents?: number
}): number {
  const net = amountCents - discountCents
  const taxed = net + shippingCents
  if (taxed <= 0 || taxCents <= 0) return amountCents
  const share = Number((2n * BigInt(taxCents) * BigInt(Math.max(0, net)) + BigInt(taxed)) / (2n * BigInt(taxed)))
  return amountCents - Math.min(share, amountCents)
}

/** A cell in cents: 0 if the cell or column is missing, NaN if the cell is not an amount. */
function centsIn({ cells }: CsvRow, settings: ParseSettings, column: string | undefined): number {
  const format = settings.money.amountCents
  const text = column ? (cells[column]?.trim() ?? '') : ''
  if (text === '' || !format) return 0
  const cents = toCents(text, format, currencyOf(cells, settings))
  return typeof cents === 'number' ? cents : Number.NaN
}
