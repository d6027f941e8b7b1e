import type { components } from '../../contract/schema.d.ts'
import { type CsvCell, csvLine } from '../../core/csv.ts'
import { localDate } from '../../core/time-zone.ts'
import { SEPA_TAIL, sepaHead, sepaTransfer } from './sepa.ts'
import { decimal, paypalFile, wiseFile } from './service-files.ts'

export { decimal, isPayableByPaypal, paypalFile, wiseFile } from './service-files.ts'

// The text of payment files: a pure module, which the command line contains, too.

type Schemas = components['schemas']
type FileLine = Schemas['PayoutFileLine']

/** A table: one row per payment that is sent, with payee details. */
interface TableFormat {
  header: readonly string[] | undefined
  /** The maximum number of rows, excluding the header. */
  maxRows: number
  cells: (line: FileLine, note: string) => (CsvCell | undefined)[]
}

const emailOf = ({ payee }: FileLine) => (payee.method === 'SEPA' ? null : payee.email)
const nameOf = ({ payee, name }: FileLine) => (payee.method === 'PAYPAL' ? name : payee.name)
const paymentOf = (line: FileLine) => ({
  name: nameOf(line),
  email: emailOf(line),
  amountCents: line.amountCents,
  currency: line.currency,
  reference: line.paymentReference,
})

const paypal: TableFormat = {
  header: paypalFile.header,
  maxRows: paypalFile.maxRows,
  cells: (line, note) => paypalFile.row(paymentOf(line), note),
}

const wise: TableFormat = {
  header: wiseFile.header,
  maxRows: wiseFile.maxRows,
  cells: (line) => wiseFile.row(paymentOf(line)),
}

const CSV_HEADER = [
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
  'note',
] as const

const csv: TableFormat = {
  header: CSV_HEADER,
  maxRows: 1_000_000,
  cells: (line, note) => {
    const { payee, ...payment } = line
    const account = { method: payee.method, accountName: nameOf(line), accountEmail: emailOf(line) }
    const address: Partial<Schemas['SepaPayee']> = payee.method === 'SEPA' ? payee : {}
    const row = { ...address, ...payment, ...account, amount: decimal(line), note }
    return CSV_HEADER.map((column) => row[column])
  },
}

const tables = { csv, paypal, wise }

/** A text cell contains no line break: a line is a payment. */
const toCell = (cell: CsvCell | undefined): CsvCell =>
  typeof cell === 'string' ? cell.replace(/[\t\r\n]+/g, ' ') : (cell ?? null)

/** A payment file's format: a start, a text per payment, and an end. */
interface PaymentFileWriter {
  extension: 'csv' | 'xml'
  /** Files with more payments are split. */
  maxRows: number
  head: string
  line: (line: FileLine) => string
  tail: string
}

/** The file with its debtor, which SEPA files have, and what payees read. */
interface PaymentFile {
  file: Schemas['PayoutFile']
  debtor: Schemas['Debtor'] | null
  note: string
}

export function paymentFileWriter({ file, debtor, note }: PaymentFile): PaymentFileWriter {
  if (file.format === 'sepa') {
    if (!debtor) throw new Error(`The file ${file.id} has no debtor.`)
    const [head, line] = [sepaHead(file, debtor), (fileLine: FileLine) => sepaTransfer(fileLine, note)]
    return { extension: 'xml', maxRows: Number.MAX_SAFE_INTEGER, head, line, tail: SEPA_TAIL }
  }
  const { header, maxRows, cells } = tables[file.format]
  const line = (fileLine: FileLine) => csvLine(cells(fileLine, note).map(toCell))
  return { extension: 'csv', maxRows, head: header ? csvLine([...header]) : '', line, tail: '' }
}

/** The number of files that a payment file is split into. */
export const partsOf = ({ format, lines }: Pick<Schemas['PayoutFile'], 'format' | 'lines'>): number =>
  format === 'sepa' ? 1 : Math.max(1, Math.ceil(lines / tables[format].maxRows))

/** The name of a file, or of one of its parts, from 1. */
export function paymentFileName(file: Schemas['PayoutFile'], part: number): string {
  const stem = `payouts-${file.format}-${file.currency}-${file.id}`
  return `${stem}${partsOf(file) > 1 ? `-${part}` : ''}.${file.format === 'sepa' ? 'xml' : 'csv'}`
}

/** The texts of a payment file, split at the maximum number of rows. */
export function renderPaymentFile(
  file: PaymentFile,
  lines: readonly FileLine[],
): { text: string; lines: readonly FileLine[] }[] {
  const { head, line, tail, maxRows } = paymentFileWriter(file)
  return Array.from({ length: partsOf(file.file) }, (_, part) => {
    const some = lines.slice(part * maxRows, (part + 1) * maxRows)
    return { text: head + some.map(line).join('') + tail, lines: some }
  })
}

/** The remittance text for payees: the month of the batch in the time zone of the shop, or its first and last one. */
export function paymentText(
  { periodStart, periodEnd }: { periodStart: string; periodEnd: string },
  timeZone: string,
): string {
  const [first = '', last = ''] = [periodStart, periodEnd].map((at) => localDate(at, timeZone).slice(0, 7))
  return first === last ? `Referrals ${last}` : `Referrals ${first} to ${last}`
}
