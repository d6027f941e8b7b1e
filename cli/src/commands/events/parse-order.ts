import type { ConversionInput } from '@referral/sdk'
import { Temporal } from 'temporal-polyfill'
import { contentHash } from '../../csv/journal.ts'
import type { CsvRow } from '../../csv/parse.ts'
import { usageError } from '../../errors.ts'
import { splitCodes } from './coupon-codes.ts'
import { toCents } from './money-columns.ts'
import { isNoRefund } from './order-export-formats.ts'
import { currencyOf, type DateFormat, MONEY_FIELDS, type ParseSettings } from './order-fields.ts'
import { excludeTax } from './totals.ts'

/** An order in a file. */
export interface ParsedOrder {
  order: ConversionInput
  /** All of the row's coupons. If there are several, one is chosen before the order is sent. */
  codes: string[]
  /** The total of refunded goods. */
  refundedCents?: number
  /** Whether only the cancellation is reported. */
  isCanceled?: boolean
}

/** Identifies an order in a file, with its refund. */
export const orderHash = ({ order, refundedCents, isCanceled }: ParsedOrder): string =>
  contentHash(refundedCents || isCanceled ? { order, refundedCents, isCanceled } : order)

/** The order of a row, or why the row is invalid. */
export type ParsedRow =
  | { row: CsvRow; problem?: never; parsed: ParsedOrder }
  | { row: CsvRow; problem: string; parsed?: never }

const ISO = /^\d{4}-\d{2}-\d{2}(T.*)?$/

/** @param isRefunded everything was refunded, whatever the amount. */
export function parseOrder(row: CsvRow, settings: ParseSettings, isRefunded = false): ParsedRow {
  const currency = currencyOf(row.cells, settings)
  const order: Record<string, unknown> = { currency }
  const shipping: Record<string, string> = {}
  const codes: string[] = []
  for (const [field, column] of Object.entries(settings.mapping)) {
    const text = row.cells[column]?.trim() ?? ''
    if (text === '' || field === 'currency' || field === 'refundedCents') continue
    const money = settings.money[field]
    if (money) {
      const cents = toCents(text, money, currency)
      if (typeof cents !== 'number') return { row, problem: cents.problem }
      order[field] = cents
    } else if (field.startsWith('shipping.')) shipping[field.slice('shipping.'.length)] = text
    else if (field === 'couponCode') codes.push(...splitCodes(text))
    else order[field] = field === 'occurredAt' ? toInstant(text, settings) : text
  }
  if (Object.keys(shipping).length) order.shipping = shipping
  // Keeps all coupons, because only sending shows which of them belong to affiliates.
  if (codes.length > 0) order.couponCode = codes.join(', ')
  if (order.occurredAt === undefined && settings.mapping.occurredAt) {
    const date = settings.fallbackDates.map((column) => row.cells[column]?.trim() ?? '').find((text) => text !== '')
    if (date === undefined) return { row, problem: noDateProblem(settings) }
    order.occurredAt = toInstant(date, settings)
  }
  const problem = findProblem(order, currency, settings)
  if (problem !== undefined) return { row, problem }
  const refunded = settings.refunds && parseRefunded(row, settings, order as unknown as Amounts, isRefunded)
  if (typeof refunded === 'string') return { row, problem: refunded }
  if (settings.prices === 'with-tax') order.amountCents = excludeTax(order as { amountCents: number })
  const { amountCents, discountCents = 0 } = order as unknown as Amounts
  const refundedCents = refunded && shareOf(Math.max(0, amountCents - discountCents), refunded)
  return {
    row,
    parsed: { order: order as unknown as ConversionInput, codes, ...(refundedCents && { refundedCents }) },
  }
}

/** A canceled order needs no amount or date, because only its cancellation is reported. */
export function parseCanceled(row: CsvRow, { mapping }: ParseSettings): ParsedRow {
  const externalOrderId = row.cells[mapping.externalOrderId ?? '']?.trim()
  if (!externalOrderId) return { row, problem: 'no order id' }
  return { row, parsed: { order: { externalOrderId, amountCents: 0 }, codes: [], isCanceled: true } }
}

interface Amounts {
  amountCents: number
  discountCents?: number
  shippingCents?: number
  taxCents?: number
}

/** A refunded share of an amount. */
interface Part {
  cents: number
  of: number
}

/**
 * Reads an order's refund as a share of its goods or its total, as in the file.
 *
 * @returns undefined without a refund, or the problem
 */
function parseRefunded(
  row: CsvRow,
  settings: ParseSettings,
  { amountCents, discountCents = 0, shippingCents = 0, taxCents = 0 }: Amounts,
  isRefunded: boolean,
): Part | string | undefined {
  const { mapping, money, refunds, prices, totalColumn } = settings
  const column = mapping.refundedCents ?? ''
  const text = row.cells[column]?.trim() ?? ''
  if (isNoRefund(text)) return isRefunded ? { cents: 1, of: 1 } : undefined
  const currency = currencyOf(row.cells, settings)
  // Exports show refunds with or without a minus sign.
  const cents = toCents(text.replace(/^[-−]\s*/, ''), money.refundedCents ?? { unit: 'units', decimal: '.' }, currency)
  if (typeof cents !== 'number') return cents.problem
  const goods = Math.max(0, amountCents - discountCents)
  let of = goods
  if (refunds === 'total') {
    const total = totalColumn ? (row.cells[totalColumn]?.trim() ?? '') : ''
    const paid = total && money.amountCents ? toCents(total, money.amountCents, currency) : undefined
    if (typeof paid === 'object') return paid.problem
    of = paid ?? goods + shippingCents + (prices === 'with-tax' ? 0 : taxCents)
  }
  if (cents <= of) return { cents, of }
  return refunds === 'goods'
    ? `${text} was refunded, but the goods are less; use --refunds total if refunds include shipping or tax`
    : `${text} was refunded, but the total of the order is less`
}

/** The same share of another amount, rounded half up. */
const shareOf = (amount: number, { cents, of }: Part): number =>
  of === 0 ? 0 : Number((2n * BigInt(amount) * BigInt(cents) + BigInt(of)) / (2n * BigInt(of)))

/** Requires a date, because the service would otherwise use the current time. */
function noDateProblem({ mapping, fallbackDates }: ParseSettings): string {
  const columns = [mapping.occurredAt, ...fallbackDates]
  return `no date: ${columns.join(' and ')} ${columns.length > 1 ? 'are' : 'is'} empty`
}

function findProblem(
  order: Record<string, unknown>,
  currency: string,
  times: Pick<ParseSettings, 'timezone'>,
): string | undefined {
  if (!order.externalOrderId) return 'no order id'
  if (order.amountCents === undefined) return 'no amount'
  if (!/^[A-Z]{3}$/.test(currency)) return `${currency} is not a currency`
  return timeProblem(order.occurredAt as string | undefined, times)
}

/** The problem with a time in {@link toInstant}. */
export function timeProblem(at: string | undefined, { timezone }: Pick<ParseSettings, 'timezone'>): string | undefined {
  if (at === undefined) return undefined
  if (YEAR_LAST.test(at))
    return `${at} may begin with the day or the month; pass --date-format day-first or month-first${
      at.includes(':') && !timezone ? ', and --time-zone if its times have no offset' : ''
    }`
  if (!ISO.test(at))
    return `${at} is not a time with an offset, such as 2026-10-31T14:00:00Z; use --time-zone for times without one`
  return isValidTime(at) ? undefined : `${at} is not a valid time`
}

function isValidTime(text: string): boolean {
  try {
    if (text.includes('T')) Temporal.Instant.from(text)
    else Temporal.PlainDate.from(text)
    return true
  } catch {
    return false
  }
}

export const isMoney = (field: string): boolean => MONEY_FIELDS.includes(field)

/** `31/10/2026 14:00`, `10-31-2026` or `31.10.2026, 14:00`. */
const YEAR_LAST = /^(\d{1,2})([/.-])(\d{1,2})\2(\d{4})(?:,? |T|$)/

/** Whether a text starts with a date, in any order of day, month, and year. */
export const isDated = (text: string): boolean => YEAR_LAST.test(text) || /^\d{4}-\d{2}-\d{2}/.test(text)

/**
 * The order of day and month in dates such as 31.10.2026, if a day after the 12th settles it and no other date
 * contradicts it.
 */
export function detectDateFormat(
  rows: readonly CsvRow[],
  columns: readonly (string | undefined)[],
): DateFormat | undefined {
  const formats = rows.flatMap(({ cells }) =>
    columns.flatMap((column): DateFormat[] => {
      const [, first, , second] = YEAR_LAST.exec(cells[column ?? '']?.trim() ?? '') ?? []
      if (Number(first) > 12) return ['day-first']
      return Number(second) > 12 ? ['month-first'] : []
    }),
  )
  return new Set(formats).size === 1 ? formats[0] : undefined
}

/** Puts the year first. */
function yearFirst(text: string, format: DateFormat | undefined): string {
  if (format === undefined) return text
  return text.replace(YEAR_LAST, (whole, first: string, _, second: string, year: string) => {
    const [month, day] = (format === 'day-first' ? [second, first] : [first, second]).map((part) =>
      part.padStart(2, '0'),
    )
    return `${year}-${month}-${day}${/\d$/.test(whole) ? '' : ' '}`
  })
}

const LOCAL = /^\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)?$/
const ZONED = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?) ?(Z|UTC|[+-]\d{2}):?(\d{2})?$/

/** @throws {CliError} usage for an unknown time zone */
export function checkTimezone(timezone: string | undefined): void {
  if (timezone === undefined) return
  try {
    new Intl.DateTimeFormat('en', { timeZone: timezone })
  } catch {
    throw usageError(`${timezone} is not a time zone.`, 'Use a name such as Europe/Berlin or America/New_York.')
  }
}

/**
 * Converts a time such as `2026-10-31 14:00:00 +0200` to ISO 8601. A time without an offset is local to the time zone:
 * the first of a repeated hour, and the offset before the change for a skipped hour. Other text is returned unchanged.
 */
export function toInstant(
  written: string,
  { timezone, dateFormat }: Pick<ParseSettings, 'timezone' | 'dateFormat'>,
): string {
  const text = yearFirst(written, dateFormat)
  const zoned = ZONED.exec(text)
  if (zoned) {
    const [, day, time, zone = '', minutes] = zoned
    return /^[+-]/.test(zone) ? `${day}T${time}${zone}:${minutes ?? '00'}` : `${day}T${time}Z`
  }
  if (timezone === undefined || !LOCAL.test(text)) return text
  try {
    const local = Temporal.PlainDateTime.from(text.replace(' ', 'T'))
    const { epochMilliseconds } = local.toZonedDateTime(timezone, { disambiguation: 'compatible' })
    return new Date(epochMilliseconds).toISOString()
  } catch {
    // A date that does not exist, such as June 31.
    return text
  }
}
