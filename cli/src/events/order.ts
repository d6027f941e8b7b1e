import type { ConversionInput } from '@referral/sdk'
import type { Mapping } from '../csv/headers.ts'
import type { CsvRow } from '../csv/read.ts'
import { type MoneyColumn, toCents } from './amounts.ts'
import { MONEY_FIELDS } from './fields.ts'

/** How the rows of one file are read. */
export interface Reading {
  mapping: Mapping
  money: Record<string, MoneyColumn>
  /** Of rows that name none. */
  currency: string
}

/** A row as an order, or why it is none. */
export type ReadRow =
  | { row: CsvRow; order: ConversionInput; problem?: never }
  | { row: CsvRow; order?: never; problem: string }

const ISO = /^\d{4}-\d{2}-\d{2}(T.*)?$/

/** Shops write `2026-10-31 14:00:00 +0200`; the same as the API reads it. A time without its zone is left as it is. */
const toInstant = (text: string) =>
  text.replace(
    /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|UTC|[+-]\d{2}):?(\d{2})?$/,
    (_, day, time, zone, minutes) =>
      /^[+-]/.test(zone) ? `${day}T${time}${zone}:${minutes ?? '00'}` : `${day}T${time}Z`,
  )

export function currencyOf(cells: Record<string, string>, { mapping, currency }: Omit<Reading, 'money'>): string {
  return (mapping.currency ? cells[mapping.currency]?.trim().toUpperCase() : '') || currency
}

export function readOrder(row: CsvRow, reading: Reading): ReadRow {
  const currency = currencyOf(row.cells, reading)
  const order: Record<string, unknown> = { currency }
  const shipping: Record<string, string> = {}
  for (const [field, column] of Object.entries(reading.mapping)) {
    const text = row.cells[column]?.trim() ?? ''
    if (text === '' || field === 'currency') continue
    const money = reading.money[field]
    if (money) {
      const cents = toCents(text, money, currency)
      if (typeof cents !== 'number') return { row, problem: cents.problem }
      order[field] = cents
    } else if (field.startsWith('shipping.')) shipping[field.slice('shipping.'.length)] = text
    else order[field] = field === 'occurredAt' ? toInstant(text) : text
  }
  if (Object.keys(shipping).length) order.shipping = shipping
  const problem = missing(order, currency)
  return problem === undefined ? { row, order: order as ConversionInput } : { row, problem }
}

function missing(order: Record<string, unknown>, currency: string): string | undefined {
  if (!order.externalOrderId) return 'no order id'
  if (order.amountCents === undefined) return 'no amount'
  if (!/^[A-Z]{3}$/.test(currency)) return `${currency} is no currency`
  const at = order.occurredAt
  if (typeof at === 'string' && !ISO.test(at)) return `${at} is no time with an offset, like 2026-10-31T14:00:00Z`
  return undefined
}

export const isMoney = (field: string): boolean => MONEY_FIELDS.includes(field)
