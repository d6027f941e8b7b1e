import type { components } from '../../../contract/schema.d.ts'
import { minorUnitDigits } from '../../../core/currencies.ts'
import { UnreadableFileError } from '../../../core/unreadable-file.ts'
import { lineIdOf } from '../../../engine/payment-line.ts'

/** A result in the API's format. */
export type PaymentResult = components['schemas']['PaymentResult']

/** The results in a bank's or payment service's file. */
export interface ReportedResults {
  /** The kind of file, for display. */
  kind: string
  results: PaymentResult[]
  /** Files that were accepted or rejected as a whole. */
  files: { id: string; outcome: PaymentResult['outcome']; reason: string | null; date: string | null }[]
  /** Payments that are not final, by reference. */
  pending: { paymentReference: string; status: string }[]
  /** Unreadable rows and mistyped references. */
  problems: string[]
  /** How many rows are about other payments. */
  others: number
}

export const emptyResults = (kind: string): ReportedResults => ({
  kind,
  results: [],
  files: [],
  pending: [],
  problems: [],
  others: 0,
})

/** Whether a reference is one that the server writes into payment files. */
export const isPaymentReference = (text: string | undefined): text is string =>
  text !== undefined && /^\s*PLN[_-]?[0-9A-HJKMNP-TV-Z]{26}\s*$/i.test(text)

/** Matches a reference with a missing, additional, or wrong character. */
const RESEMBLES = /^\s*PLN[_-]?[0-9A-Z]{20,32}\s*$/i

/** Counts a row about another payment. A reference that looks mistyped is reported as a problem. */
export function addOther(results: ReportedResults, reference: string | undefined): void {
  if (reference !== undefined && RESEMBLES.test(reference)) results.problems.push(unknownReference(reference))
  else results.others++
}

/** Longer texts are not references. A whole file can be one text. */
const MAX_SHOWN = 60

export function unknownReference(reference: string): string {
  const text = reference.trim()
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text
  return `${shown} is not a payment reference from one of your payment files. Check for a missing or mistyped character.`
}

/**
 * Parses an amount and ignores its sign, because a debit is negative in some reports. A comma separates decimals only
 * if it cannot separate thousands.
 *
 * @returns minor units, or undefined when it is not an exact amount of the currency.
 */
function parseAmount(text: string, currency: string): number | undefined {
  const [, units, mark, fraction = ''] = /^-?(\d{1,15})(?:([.,])(\d+))?$/.exec(text.trim()) ?? []
  if (units === undefined) return undefined
  const digits = minorUnitDigits(currency)
  if (mark === ',' && fraction.length > Math.min(digits, 2)) return undefined
  if (/[^0]/.test(fraction.slice(digits))) return undefined
  const cents = Number(units + fraction.slice(0, digits).padEnd(digits, '0'))
  return Number.isSafeInteger(cents) ? cents : undefined
}

/** The date of an ISO 8601 date or timestamp, or null. */
export const dateOf = (text: string | undefined): string | null =>
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?!\d)/.exec(text?.trim() ?? '')?.[0] ?? null

/** Text in the API's format, or null. */
export const textOf = (text: string | undefined): string | null => text?.trim().slice(0, 140) || null

interface Row {
  at: string
  paymentReference: string
  outcome: PaymentResult['outcome']
  amount: string | undefined
  currency: string | undefined
  date: string | undefined
  reason: string | undefined
  reference: string | undefined
}

/** Adds a final result, or the problem that prevents it. */
export function addResult(results: ReportedResults, row: Row): void {
  const currency = row.currency?.trim().toUpperCase() || null
  const amountCents = row.amount && currency ? parseAmount(row.amount, currency) : null
  if (amountCents === undefined || (row.amount && !currency)) {
    results.problems.push(`${row.at}: ${row.amount} ${currency ?? ''} is not an amount.`)
    return
  }
  results.results.push({
    paymentReference: row.paymentReference.trim(),
    outcome: row.outcome,
    amountCents,
    currency,
    date: dateOf(row.date),
    reason: textOf(row.reason),
    reference: textOf(row.reference),
  })
}

/**
 * An account's entries, of which a payment can have two: its debit and its return. Other kinds of files report states.
 */
const OF_ACCOUNTS = ['camt.053', 'camt.054']

/**
 * @throws UnreadableFileError when a payment is settled and returned, unless it was returned on a later day. A person
 * has to decide which one is right.
 */
export function rejectContradictions({ kind, results }: ReportedResults, file: string): void {
  if (OF_ACCOUNTS.includes(kind)) return
  for (const references of Map.groupBy(results, ({ paymentReference }) => lineIdOf(paymentReference)).values()) {
    const [settled = [], returned = []] = ['SETTLED', 'RETURNED'].map((outcome) =>
      references.filter((reference) => reference.outcome === outcome),
    )
    const isContradiction = settled.some((settlement) => returned.some((other) => !isLater(other, settlement)))
    if (isContradiction)
      throw new UnreadableFileError(
        `${file} reports the payment ${references[0]?.paymentReference} as settled and as returned.`,
        'Remove the line that is wrong. Nothing was recorded.',
      )
  }
}

const isLater = ({ date: later }: PaymentResult, { date: earlier }: PaymentResult): boolean =>
  Boolean(later && earlier && later > earlier)
