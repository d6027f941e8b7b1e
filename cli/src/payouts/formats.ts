import { digitsOf, toDecimal } from '../money.ts'
import { type Cell, isFormula } from '../output/csv.ts'
import { plainText } from '../output/text.ts'

/** What one affiliate gets from the batches that are exported together. */
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

/** How a file for somebody looks. */
export interface Format {
  header: readonly string[] | undefined
  /** The most rows a file may have, without the header. */
  rows: number
  /** Why this payee cannot stand in the file; undefined when they can. */
  refusal: (payee: Payee, currency: string) => string | undefined
  cells: (payee: Payee, currency: string) => Cell[]
}

// A number to a spreadsheet, never a text: a negative amount is no formula.
const amount = (cents: number, currency: string): Cell => ({ decimal: toDecimal(cents, currency) })

const notAboveZero = ({ netPayableCents }: Payee) => (netPayableCents > 0 ? undefined : 'nothing to pay')
// An apostrophe in front would make it somebody else's address.
const unsafeAddress = ({ email }: Payee) =>
  isFormula(email) ? 'a spreadsheet would calculate the e-mail address' : undefined
const monthOf = ({ periodEnd }: Payee) => `Referrals ${periodEnd.slice(0, 7)}`

const csv: Format = {
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
  rows: 1_000_000,
  refusal: () => undefined,
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

// PayPal pays these without decimals, although they have minor units.
const WHOLE_ON_PAYPAL = ['HUF', 'TWD']

/** https://developer.paypal.com/docs/payouts/standard/payouts-web/: no header, one currency and at most 5,000 rows a file. */
const paypal: Format = {
  header: undefined,
  rows: 5000,
  refusal: (payee, currency) =>
    notAboveZero(payee) ??
    unsafeAddress(payee) ??
    (isWholeOnPaypal(payee, currency) ? undefined : `PayPal pays ${currency} without decimals`),
  cells: (payee, currency) => [
    payee.email,
    amountForPaypal(payee, currency),
    currency,
    payee.affiliateId.replace(/\s/g, '').slice(0, 30),
    monthOf(payee),
    'PAYPAL',
  ],
}

const isWholeOnPaypal = ({ netPayableCents }: Payee, currency: string) =>
  !WHOLE_ON_PAYPAL.includes(currency) || netPayableCents % 10 ** digitsOf(currency) === 0

const amountForPaypal = ({ netPayableCents }: Payee, currency: string): Cell =>
  WHOLE_ON_PAYPAL.includes(currency) ? netPayableCents / 10 ** digitsOf(currency) : amount(netPayableCents, currency)

/** https://wise.com/help/articles/2663302: the template that pays to e-mail addresses, at most 1,000 rows a file. */
const wise: Format = {
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
  rows: 1000,
  refusal: (payee) =>
    notAboveZero(payee) ?? unsafeAddress(payee) ?? (plainText(payee.name).trim() ? undefined : 'no name'),
  cells: (payee, currency) => [
    payee.name,
    payee.email,
    monthOf(payee),
    'PERSON',
    'target',
    amount(payee.netPayableCents, currency),
    currency,
    currency,
    'EMAIL',
  ],
}

export const formats = { csv, paypal, wise }
