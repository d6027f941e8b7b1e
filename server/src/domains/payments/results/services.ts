import { parseCsvTable } from '../../../core/parse-csv.ts'
import { UnreadableFileError } from '../../../core/unreadable-file.ts'
import {
  addOther,
  addResult,
  emptyResults,
  isPaymentReference,
  type PaymentResult,
  type ReportedResults,
  unknownReference,
} from './result.ts'

/** A report's columns in lower case. The first one that the file has is used. */
interface ReportFormat {
  kind: string
  paymentReference: string[]
  status: string[]
  amount: string[]
  currency: string[]
  date: string[]
  reason: string[]
  reference: string[]
  settled: string[]
  returned: string[]
  /** Statuses that are not final. Any other unknown status is an error. */
  pending?: string[]
  /** Rows with another value in this column are other transfers. */
  only?: [column: string, value: string]
}

/** https://developer.paypal.com/docs/api/payments.payouts-batch/v1/: the states of a payout item. */
const PAYPAL_STATES = {
  settled: ['SUCCESS', 'COMPLETED', 'CLAIMED'],
  returned: ['FAILED', 'RETURNED', 'REFUNDED', 'REVERSED', 'DENIED', 'CANCELED', 'CANCELLED'],
}

const FORMATS: ReportFormat[] = [
  {
    kind: 'results as CSV',
    paymentReference: ['paymentreference'],
    status: ['outcome', 'status'],
    amount: ['amount'],
    currency: ['currency'],
    date: ['date'],
    reason: ['reason'],
    reference: ['reference'],
    settled: ['SETTLED', 'PAID', 'COMPLETED', 'SUCCESS', 'SUCCEEDED'],
    returned: ['RETURNED', 'FAILED', 'REJECTED', 'REFUNDED', 'REVERSED', 'CANCELED', 'CANCELLED'],
    pending: ['PENDING', 'PROCESSING', 'SENT'],
  },
  {
    kind: 'Wise transfers',
    paymentReference: ['reference'],
    status: ['status'],
    amount: ['target amount (after fees)'],
    currency: ['target currency'],
    date: ['finished on', 'created on'],
    reason: ['note'],
    reference: ['id'],
    settled: ['COMPLETED'],
    returned: ['REFUNDED', 'CANCELLED', 'CANCELED'],
    only: ['direction', 'OUT'],
  },
  {
    kind: 'PayPal payouts',
    paymentReference: ['unique id', 'unique_id', 'sender item id', 'sender_item_id', 'customer id', 'item id'],
    status: ['transaction status', 'transaction_status', 'status'],
    amount: ['amount', 'payment amount', 'gross'],
    currency: ['currency', 'currency code', 'amount currency'],
    date: ['time processed', 'time_processed', 'date'],
    reason: ['error', 'error code', 'reason', 'reason/error', 'error message'],
    reference: ['transaction id', 'transaction_id'],
    ...PAYPAL_STATES,
  },
]

/** Reads a table of results: Wise transfers, PayPal payouts, or columns named as in the API. */
export function readTable(text: string, file: string): ReportedResults {
  const { header, rows } = parseCsvTable(text, file)
  const names = header.map((name) => name.toLowerCase())
  const has = (columns: string[]) => columns.some((name) => names.includes(name))
  const isWise = names.includes('target amount (after fees)')
  const format = FORMATS.find(
    (format) => has(format.paymentReference) && has(format.status) && (format.kind.startsWith('Wise') ? isWise : true),
  )
  if (!format)
    throw new UnreadableFileError(
      `${file} has no known report layout.`,
      'Use the report of PayPal or Wise, or columns named paymentReference, outcome, amount, currency, date, reason and reference.',
    )
  const results = emptyResults(format.kind)
  // Values in the wrong columns would be read as another amount or as none.
  const shifted = rows.find(({ problem }) => problem)
  if (shifted)
    throw new UnreadableFileError(
      `Line ${shifted.line} of ${file} has ${shifted.problem}. Nothing was recorded.`,
      'Quote a value that contains the separator, such as "1,234.00".',
    )
  // If headers differ only in case, the last one wins.
  const indexOf = new Map(names.map((name, i) => [name, i]))
  for (const { line, fields } of rows) {
    const cellOf = (name: string) => fields[indexOf.get(name) ?? -1]
    const cell = (columns: string[]) => columns.map(cellOf).find((value) => value?.trim())
    const paymentReference = cell(format.paymentReference)
    const [column = '', value] = format.only ?? []
    const isOther = value !== undefined && cellOf(column)?.trim().toUpperCase() !== value
    if (isOther) {
      results.others++
      continue
    }
    if (!isPaymentReference(paymentReference)) {
      // In the API's own CSV format, every row must name a payment.
      if (format.pending && paymentReference !== undefined) results.problems.push(unknownReference(paymentReference))
      else addOther(results, paymentReference)
      continue
    }
    const status = cell(format.status)?.trim().toUpperCase() ?? ''
    const outcome = outcomeOf(format, status)
    if (!outcome && format.pending && !format.pending.includes(status))
      results.problems.push(unknownStatus(line, status, format))
    else if (!outcome) results.pending.push({ paymentReference, status })
    else
      addResult(results, {
        at: `line ${line}`,
        paymentReference,
        outcome,
        amount: cell(format.amount),
        currency: cell(format.currency),
        date: cell(format.date),
        reason: outcome === 'RETURNED' ? cell(format.reason) : undefined,
        reference: cell(format.reference),
      })
  }
  return results
}

const unknownStatus = (line: number, status: string, { settled, returned, pending = [] }: ReportFormat) =>
  `line ${line}: ${status ? `the outcome ${status} is unknown` : 'the outcome is missing'}; use ${settled.join(', ')} for a payment that was made, ${returned.join(', ')} for one that was not, or ${pending.join(', ')} for one that is not final.`

function outcomeOf(
  { settled, returned }: Pick<ReportFormat, 'settled' | 'returned'>,
  status: string,
): PaymentResult['outcome'] | undefined {
  if (settled.includes(status)) return 'SETTLED'
  return returned.includes(status) ? 'RETURNED' : undefined
}

/** Reads a payout batch's details as the PayPal API returns them. */
export function readPaypalDetails(text: string, file: string): ReportedResults {
  const items = parseJson(text, file)
  if (!Array.isArray(items)) throw new UnreadableFileError(`${file} has no items of a PayPal payout batch.`)
  const results = emptyResults('PayPal payouts')
  for (const [i, item] of items.entries()) {
    if (typeof item !== 'object' || item === null || Array.isArray(item))
      throw new UnreadableFileError(
        `Item ${i + 1} of ${file} is not an item of a PayPal payout batch. Nothing was recorded.`,
      )
    const paymentReference = stringAt(item, 'payout_item', 'sender_item_id')
    if (!isPaymentReference(paymentReference)) {
      addOther(results, paymentReference)
      continue
    }
    const status = stringAt(item, 'transaction_status') ?? ''
    const outcome = outcomeOf(PAYPAL_STATES, status)
    if (!outcome) results.pending.push({ paymentReference, status })
    else
      addResult(results, {
        at: paymentReference,
        paymentReference,
        outcome,
        amount: stringAt(item, 'payout_item', 'amount', 'value'),
        currency: stringAt(item, 'payout_item', 'amount', 'currency'),
        date: stringAt(item, 'time_processed'),
        reason: outcome === 'RETURNED' ? stringAt(item, 'errors', 'name') : undefined,
        reference: stringAt(item, 'transaction_id'),
      })
  }
  return results
}

/** The string or number at a property path, as a string. */
function stringAt(item: unknown, ...path: string[]): string | undefined {
  const value = path.reduce<unknown>(
    (parent, name) =>
      typeof parent === 'object' && parent !== null && Object.hasOwn(parent, name)
        ? Reflect.get(parent, name)
        : undefined,
    item,
  )
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

/** A payout batch's items. */
function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text).items
  } catch {
    throw new UnreadableFileError(`${file} is not JSON.`)
  }
}
