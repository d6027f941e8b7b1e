import { type Cell, csvLine } from '../../csv/write.ts'
import { minorUnitDigits, toDecimal } from '../../money.ts'
import type { FileLine } from './sepa.ts'

/** A table of payments, as a payment service imports it. */
interface TableFormat {
  header: readonly string[] | undefined
  /** The maximum number of rows, excluding the header. */
  maxRows: number
  cells: (line: FileLine, note: string) => Cell[]
}

const amountOf = ({ amountCents, currency }: FileLine): Cell => ({ decimal: toDecimal(amountCents, currency) })

// Currencies with minor units that PayPal pays in whole units only.
const WHOLE_UNITS = ['HUF', 'TWD']
const paypalAmountOf = (line: FileLine): Cell =>
  WHOLE_UNITS.includes(line.currency) ? line.amountCents / 10 ** minorUnitDigits(line.currency) : amountOf(line)

const emailOf = ({ payee }: FileLine) => (payee.method === 'SEPA' ? null : payee.email)
const nameOf = ({ payee, name }: FileLine) => (payee.method === 'PAYPAL' ? name : payee.name)

/** https://developer.paypal.com/docs/payouts/standard/payouts-web/: no header, one currency and at most 5,000 rows. */
const paypal: TableFormat = {
  header: undefined,
  maxRows: 5000,
  cells: (line, note) => [emailOf(line), paypalAmountOf(line), line.currency, line.paymentReference, note, 'PAYPAL'],
}

/** https://wise.com/help/articles/2663302: the template for payments to email addresses, at most 1,000 rows. */
const wise: TableFormat = {
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
  cells: (line) => [
    nameOf(line),
    emailOf(line),
    line.paymentReference,
    'PERSON',
    'target',
    amountOf(line),
    line.currency,
    line.currency,
    'EMAIL',
  ],
}

const csv: TableFormat = {
  header: [
    'paymentReference',
    'affiliateId',
    'name',
    'email',
    'currency',
    'amountCents',
    'amount',
    'method',
    'accountName',
    'accountEmail',
    'iban',
    'bic',
    'streetName',
    'buildingNumber',
    'postalCode',
    'townName',
    'country',
  ],
  maxRows: 1_000_000,
  cells: (line) => {
    const { payee } = line
    const account = payee.method === 'SEPA' ? payee : undefined
    return [
      line.paymentReference,
      line.affiliateId,
      line.name,
      line.email,
      line.currency,
      line.amountCents,
      amountOf(line),
      payee.method,
      nameOf(line),
      emailOf(line),
      account?.iban,
      account?.bic,
      account?.streetName,
      account?.buildingNumber,
      account?.postalCode,
      account?.townName,
      account?.country,
    ]
  },
}

const formats = { csv, paypal, wise }

/** Writes payments as tables, split at the maximum number of rows. */
export function renderTables(
  format: keyof typeof formats,
  lines: readonly FileLine[],
  note: string,
): { text: string; lines: readonly FileLine[] }[] {
  const { header, maxRows, cells } = formats[format]
  const head = header ? csvLine(header) : ''
  return Array.from({ length: Math.ceil(lines.length / maxRows) }, (_, part) => {
    const some = lines.slice(part * maxRows, (part + 1) * maxRows)
    return { text: head + some.map((line) => csvLine(cells(line, note))).join(''), lines: some }
  })
}
