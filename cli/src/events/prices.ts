import { findColumn } from '../csv/headers.ts'
import type { Csv, CsvRow } from '../csv/read.ts'
import { usageError } from '../exit.ts'
import { toCents } from './amounts.ts'
import { currencyOf, type ParseSettings, type PriceBasis } from './fields.ts'

const TOTALS = ['total', 'orderTotal', 'totalPrice', 'grandTotal', 'totalAmount']

/**
 * Whether the goods of a file include tax. Its totals show it: goods and shipping alone, or with the tax on top.
 *
 * @throws CliError usage when the rows disagree.
 */
export function detectPriceBasis({ header, rows }: Csv, reading: ParseSettings): PriceBasis {
  const { amountCents: amount, taxCents: tax } = reading.mapping
  const total = findColumn(header, TOTALS)
  if (!amount || !tax || !total) return 'without-tax'
  let [inside, onTop] = [0, 0]
  for (const row of rows) {
    const cents = (column: string | undefined) => centsIn(row, reading, column)
    const taxes = cents(tax)
    if (!(taxes > 0) || !row.cells[total]?.trim()) continue
    const goods = cents(amount) - cents(reading.mapping.discountCents) + cents(reading.mapping.shippingCents)
    if (goods === cents(total)) inside++
    else if (goods + taxes === cents(total)) onTop++
  }
  if (inside > 0 && onTop > 0)
    throw usageError(
      `In ${inside} rows the prices include tax, in ${onTop} rows they do not.`,
      'Say which it is: --prices with-tax or --prices without-tax.',
    )
  return inside > 0 ? 'with-tax' : 'without-tax'
}

/**
 * Goods without the tax that their prices include. Exports state one tax for goods and shipping together; the goods carry
 * their share of it, rounded half up.
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

function centsIn({ cells }: CsvRow, reading: ParseSettings, column: string | undefined): number {
  const form = reading.money.amountCents
  const text = column ? (cells[column]?.trim() ?? '') : ''
  if (text === '' || !form) return 0
  const cents = toCents(text, form, currencyOf(cells, reading))
  return typeof cents === 'number' ? cents : Number.NaN
}
