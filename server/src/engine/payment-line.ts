/** What a bank or a payment service reports about a payment. */
export interface PaymentResult {
  outcome: 'SETTLED' | 'RETURNED'
  /** The amount in minor units, when the report has one. */
  amountCents: number | null
  currency: string | null
  /** The reference of the bank or payment service. */
  reference: string | null
}

/** A sent payment. */
interface SentPayment {
  state: 'SENT' | 'SETTLED' | 'RETURNED'
  amountCents: number
  currency: string
  /** The reference it was settled or returned with. */
  reference: string | null
}

/** What a result changes; the last four change nothing. */
export type PaymentDecision =
  | 'settled'
  | 'returned'
  | 'already_settled'
  | 'already_returned'
  | 'settled_twice'
  | 'amount_mismatch'

/**
 * Decides what a reported result changes. A repeated result changes nothing. A settled payment can still be returned; a
 * returned one stays returned, because its amount is payable again.
 */
export function decideResult(payment: SentPayment, result: PaymentResult): PaymentDecision {
  if (result.currency !== null && result.currency !== payment.currency) return 'amount_mismatch'
  if (result.amountCents !== null && result.amountCents !== payment.amountCents) return 'amount_mismatch'
  if (payment.state === 'RETURNED') return 'already_returned'
  if (result.outcome === 'RETURNED') return 'returned'
  if (payment.state === 'SENT') return 'settled'
  const isOther = result.reference !== null && payment.reference !== null && result.reference !== payment.reference
  return isOther ? 'settled_twice' : 'already_settled'
}

export type PaymentMethod = 'PAYPAL' | 'WISE' | 'SEPA'
export type FileFormat = 'csv' | 'paypal' | 'wise' | 'sepa'

/** Why a payment cannot be sent. */
export type BlockedReason = 'no_payee_details' | 'currency_not_supported' | 'amount_not_supported'

/** The methods whose payees a format contains. */
export const METHODS_OF: Record<FileFormat, readonly PaymentMethod[]> = {
  csv: ['PAYPAL', 'WISE', 'SEPA'],
  paypal: ['PAYPAL'],
  wise: ['WISE'],
  sepa: ['SEPA'],
}

/** Currencies with two digits of minor units that PayPal pays in whole units only. */
const PAYPAL_WHOLE_UNITS = ['HUF', 'TWD']
/** 999,999,999.99 euros, the largest payment of SEPA. */
const MAX_SEPA_CENTS = 99_999_999_999

/** Why an amount cannot be sent to a payee, or null. @param method null without payee details */
export function blockedReason(method: PaymentMethod | null, currency: string, cents: number): BlockedReason | null {
  if (method === null) return 'no_payee_details'
  if (method === 'SEPA' && currency !== 'EUR') return 'currency_not_supported'
  if (method === 'SEPA' && cents > MAX_SEPA_CENTS) return 'amount_not_supported'
  return method === 'PAYPAL' && PAYPAL_WHOLE_UNITS.includes(currency) && cents % 100 !== 0
    ? 'amount_not_supported'
    : null
}

/** Why a payment is blocked, in words; the reason of a returned one as its sender reported it. */
export function blockedText({
  reason,
  method,
  currency,
}: {
  reason: string | null
  method: string | null
  currency: string
}): string {
  if (reason === 'no_payee_details') return 'No payee details'
  if (reason === 'currency_not_supported') return 'SEPA supports EUR only'
  if (reason !== 'amount_not_supported') return reason ?? ''
  return method === 'SEPA' ? 'SEPA pays at most 999,999,999.99 EUR' : `PayPal pays ${currency} in whole units only`
}

/** The reference of a payment in files. Banks accept letters and digits, and PayPal at most 30 characters. */
export const paymentReference = (lineId: string): string => lineId.replace(/^pln_/, 'PLN')

/** The id of the line that a reference names, however it is spelled; undefined when it cannot be one. */
export function lineIdOf(reference: string): string | undefined {
  const [, id] = /^\s*PLN[_-]?([0-9A-HJKMNP-TV-Z]{26})\s*$/i.exec(reference) ?? []
  return id && `pln_${id.toUpperCase()}`
}
