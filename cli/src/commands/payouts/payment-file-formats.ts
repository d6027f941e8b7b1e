import { type Cell, csvLine } from '../../csv/write.ts'
import type { FileLine } from './sepa.ts'
import { decimal, paypalFile, wiseFile } from './service-files.ts'

/** A format of `payouts export --file-id`: one row per payment that is sent, with payee details. */
interface TableFormat {
  header: readonly string[] | undefined
  /** The maximum number of rows, excluding the header. */
  maxRows: number
  cells: (line: FileLine, note: string) => Cell[]
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
    'note',
  ],
  maxRows: 1_000_000,
  cells: (line, note) => {
    const { payee } = line
    const account = payee.method === 'SEPA' ? payee : undefined
    return [
      line.paymentReference,
      line.affiliateId,
      line.name,
      line.email,
      line.currency,
      line.amountCents,
      decimal(line),
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
      note,
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
