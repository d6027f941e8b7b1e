import { findColumn } from '../csv/headers.ts'
import type { CsvRow } from '../csv/read.ts'

const UNPAID = ['refunded', 'partially_refunded', 'voided', 'pending', 'authorized', 'expired', 'unpaid']

/** Why the money of a row did not come or did not stay, by the columns that exports of shops have for it. */
export function unsettledBy(header: readonly string[]): (row: CsvRow) => string | undefined {
  const canceled = findColumn(header, ['canceledAt', 'cancelledAt'])
  const refunded = findColumn(header, ['refundedAmount', 'amountRefunded', 'totalRefunded'])
  const status = findColumn(header, ['financialStatus', 'paymentStatus'])
  return ({ cells }) => {
    const cell = (column: string | undefined) => (column ? (cells[column]?.trim() ?? '') : '')
    if (cell(canceled)) return `this order was cancelled at ${cell(canceled)}`
    if (/[1-9]/.test(cell(refunded))) return `${cell(refunded)} of this order was refunded`
    const state = cell(status)
    return UNPAID.includes(state.toLowerCase().replaceAll(' ', '_')) ? `this order is ${state}` : undefined
  }
}
