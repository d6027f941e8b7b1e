import { type Cell, isFormula } from '../../csv/write.ts'
import { minorUnitDigits, toDecimal } from '../../money.ts'
import { sanitizeText } from '../../output/text.ts'

/** What an affiliate is paid from one batch. */
export interface Payee {
  batchId: string
  periodEnd: string
  affiliateId: string
  name: string
  email: string
  commissions: number
  commissionCents: number
  taxWithheldCents: number
  netPayableCents: number
}

/** A file format for payments. */
export interface ExportFormat {
  header: readonly string[] | undefined
  /** The maximum number of rows, excluding the header. */
  maxRows: number
  /** Returns why the file cannot contain this payee, or undefined. */
  exclusionReason: (payee: Payee, currency: string) => string | undefined
  cells: (payee: Payee, currency: string) => Cell[]
}

// Written as a number: a negative amount is not a formula.
const amount = (cents: number, currency: string): Cell => ({ decimal: toDecimal(cents, currency) })

const nothingToPay = ({ netPayableCents }: Payee) => (netPayableCents > 0 ? undefined : 'nothing to pay')
// The apostrophe that disables a formula would change the address.
const unsafeEmail = ({ email }: Payee) =>
  isFormula(email) ? 'a spreadsheet would evaluate the email address as a formula' : undefined
const referenceFor = ({ periodEnd }: Payee) => `Referrals ${periodEnd.slice(0, 7)}`

const csv: ExportFormat = {
  header: [
    'batchId',
    'affiliateId',
    'name',
    'email',
    'currency',
    'commissions',
    'commissionCents',
    'taxWithheldCents',
    'netPayableCents',
    'netPayable',
  ],
  maxRows: 1_000_000,
  exclusionReason: () => undefined,
  cells: (payee, currency) => [
    payee.batchId,
    payee.affiliateId,
    payee.name,
    payee.email,
    currency,
    payee.commissions,
    payee.commissionCents,
    payee.taxWithheldCents,
    payee.netPayableCents,
    amount(payee.netPayableCents, currency),
  ],
}

// Currencies with minor units that PayPal pays in whole units only.
const PAYPAL_WHOLE_UNIT_CURRENCIES = ['HUF', 'TWD']

/** https://developer.paypal.com/docs/payouts/standard/payouts-web/: no header, one currency and at most 5,000 rows per file. */
const paypal: ExportFormat = {
  header: undefined,
  maxRows: 5000,
  exclusionReason: (payee, currency) =>
    nothingToPay(payee) ??
    unsafeEmail(payee) ??
    (isPayableByPaypal(payee, currency) ? undefined : `PayPal does not support decimals in ${currency}`),
  cells: (payee, currency) => [
    payee.email,
    amountForPaypal(payee, currency),
    currency,
    payee.affiliateId.replace(/\s/g, '').slice(0, 30),
    referenceFor(payee),
    'PAYPAL',
  ],
}

const isPayableByPaypal = ({ netPayableCents }: Payee, currency: string) =>
  !PAYPAL_WHOLE_UNIT_CURRENCIES.includes(currency) || netPayableCents % 10 ** minorUnitDigits(currency) === 0

const amountForPaypal = ({ netPayableCents }: Payee, currency: string): Cell =>
  PAYPAL_WHOLE_UNIT_CURRENCIES.includes(currency)
    ? netPayableCents / 10 ** minorUnitDigits(currency)
    : amount(netPayableCents, currency)

/** https://wise.com/help/articles/2663302: the template for payments to email addresses, at most 1,000 rows per file. */
const wise: ExportFormat = {
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
  exclusionReason: (payee) =>
    nothingToPay(payee) ?? unsafeEmail(payee) ?? (sanitizeText(payee.name).trim() ? undefined : 'no name'),
  cells: (payee, currency) => [
    payee.name,
    payee.email,
    referenceFor(payee),
    'PERSON',
    'target',
    amount(payee.netPayableCents, currency),
    currency,
    currency,
    'EMAIL',
  ],
}

export const exportFormats = { csv, paypal, wise }
