import type { CsvCell } from '../../core/csv.ts'
import { minorUnitDigits, toUnits } from '../../core/currencies.ts'

/** A payment to an email address. */
interface Payment {
  name: string | null
  email: string | null
  amountCents: number
  currency: string
  reference: string
}

// Written as a number, so that a negative amount is not treated as a formula.
export const decimal = ({ amountCents, currency }: Pick<Payment, 'amountCents' | 'currency'>): CsvCell => ({
  decimal: toUnits(amountCents, currency),
})

// Currencies with minor units that PayPal pays only in whole units.
const PAYPAL_WHOLE_UNIT_CURRENCIES = ['HUF', 'TWD']

export const isPayableByPaypal = (amountCents: number, currency: string): boolean =>
  !PAYPAL_WHOLE_UNIT_CURRENCIES.includes(currency) || amountCents % 10 ** minorUnitDigits(currency) === 0

const amountForPaypal = ({ amountCents, currency }: Payment): CsvCell =>
  PAYPAL_WHOLE_UNIT_CURRENCIES.includes(currency)
    ? amountCents / 10 ** minorUnitDigits(currency)
    : decimal({ amountCents, currency })

/** https://developer.paypal.com/docs/payouts/standard/payouts-web/: no header, one currency and at most 5,000 rows per file. */
export const paypalFile = {
  header: undefined,
  maxRows: 5000,
  row: (payment: Payment, note: string): CsvCell[] => [
    payment.email,
    amountForPaypal(payment),
    payment.currency,
    payment.reference,
    note,
    'PAYPAL',
  ],
}

/**
 * https://wise.com/help/articles/2663302: the template for payments to email addresses, with at most 1,000 rows per
 * file.
 */
export const wiseFile = {
  header: [
    'name',
    'recipientEmail',
    'paymentReference',
    'receiverType',
    'amountCurrency',
    'amount',
    'sourceCurrency',
    'targetCurrency',
    'type',
  ],
  maxRows: 1000,
  row: (payment: Payment): CsvCell[] => [
    payment.name,
    payment.email,
    payment.reference,
    'PERSON',
    'target',
    decimal(payment),
    payment.currency,
    payment.currency,
    'EMAIL',
  ],
}
