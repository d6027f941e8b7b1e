import type { ConversionInput } from '@referral/sdk'
import type { CsvRow } from '../csv/read.ts'
import { toCents } from './amounts.ts'
import { splitCodes } from './codes.ts'
import { currencyOf, MONEY_FIELDS, type ParseSettings } from './fields.ts'
import { excludeTax } from './prices.ts'
import { toInstant } from './times.ts'

/** A row as an order, or why it is none. */
export type ParsedRow =
  | { row: CsvRow; order: ConversionInput; codes: string[]; problem?: never }
  | { row: CsvRow; order?: never; problem: string }

const ISO = /^\d{4}-\d{2}-\d{2}(T.*)?$/

export function parseOrder(row: CsvRow, reading: ParseSettings): ParsedRow {
  const currency = currencyOf(row.cells, reading)
  const order: Record<string, unknown> = { currency }
  const shipping: Record<string, string> = {}
  const codes: string[] = []
  for (const [field, column] of Object.entries(reading.mapping)) {
    const text = row.cells[column]?.trim() ?? ''
    if (text === '' || field === 'currency') continue
    const money = reading.money[field]
    if (money) {
      const cents = toCents(text, money, currency)
      if (typeof cents !== 'number') return { row, problem: cents.problem }
      order[field] = cents
    } else if (field.startsWith('shipping.')) shipping[field.slice('shipping.'.length)] = text
    else if (field === 'couponCode') codes.push(...splitCodes(text))
    else order[field] = field === 'occurredAt' ? toInstant(text, reading.timezone) : text
  }
  if (Object.keys(shipping).length) order.shipping = shipping
  // All of them, until it is known which belong to affiliates: the file is compared by what it says.
  if (codes.length > 0) order.couponCode = codes.join(', ')
  const problem = findProblem(order, currency)
  if (problem !== undefined) return { row, problem }
  if (reading.prices === 'with-tax') order.amountCents = excludeTax(order as { amountCents: number })
  return { row, order: order as ConversionInput, codes }
}

function findProblem(order: Record<string, unknown>, currency: string): string | undefined {
  if (!order.externalOrderId) return 'no order id'
  if (order.amountCents === undefined) return 'no amount'
  if (!/^[A-Z]{3}$/.test(currency)) return `${currency} is no currency`
  const at = order.occurredAt
  if (typeof at === 'string' && !ISO.test(at))
    return `${at} is no time with an offset, like 2026-10-31T14:00:00Z; --timezone says the zone of such times`
  return undefined
}

export const isMoney = (field: string): boolean => MONEY_FIELDS.includes(field)
