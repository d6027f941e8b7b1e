import { invalidField } from '../../contract/errors.ts'
import type { Context } from '../../core/context.ts'
import { csvLine } from '../../core/csv.ts'
import { readFrom } from '../../core/lists.ts'
import { recordAccess } from '../../core/mutate.ts'
import { toByteStream } from '../../core/ndjson.ts'
import { localDate, monthPeriod } from '../../core/time-zone.ts'
import { defineReport } from '../../database/database.ts'
import { findContacts } from '../payouts/payouts.ts'
import {
  findLedgerBatch,
  type LedgerCursor,
  listLedgerCommissions,
  listLedgerPayments,
  listLedgerRefunds,
} from './ledger-queries.ts'

const HEADER = [
  'date',
  'at',
  'kind',
  'affiliateId',
  'name',
  'email',
  'order',
  'refundId',
  'payoutBatchId',
  'status',
  'currency',
  'commissionCents',
  'taxWithheldCents',
  'netCents',
  'commissionId',
] as const

/**
 * Streams what all of the shop's affiliates earned, returned, and were paid in a month, as CSV with their names: orders
 * and adjustments by time, then refunds of unpaid commissions, then payments.
 *
 * @throws ApiError 400 `invalid_parameter`, 503 `audit_unavailable`.
 */
export async function exportLedger(ctx: Context, month: string): Promise<ReadableStream<Uint8Array>> {
  if (month.startsWith('0000') || month.startsWith('9999'))
    throw invalidField('invalid_parameter', 'month', 'must be YYYY-MM, such as 2026-10.')
  await recordAccess(ctx, 'ledger.exported', null)
  return toByteStream(linesOf(ctx, month))
}

async function* linesOf(ctx: Context, month: string): AsyncGenerator<string, void> {
  const { timeZone } = ctx.shop
  const { from, to } = monthPeriod(month, timeZone)
  yield csvLine([...HEADER])
  for (const section of ['COMMISSIONS', 'REFUNDS', 'PAYMENTS'] as const) {
    let cursor: LedgerCursor | null = { at: '', id: '' }
    while (cursor) {
      const query: LedgerQuery = { section, from, to, timeZone, after: cursor }
      const page: LedgerPage = await readFrom(ctx, ledgerReport, query)
      yield page.text
      cursor = page.next
    }
  }
}

interface LedgerQuery {
  section: 'COMMISSIONS' | 'REFUNDS' | 'PAYMENTS'
  from: string
  to: string
  timeZone: string
  after: LedgerCursor
}

interface LedgerPage {
  text: string
  next: LedgerCursor | null
}

interface LedgerRow {
  at: string
  id: string
  kind: string
  affiliateId: string
  order: string | null
  refundId: string | null
  payoutBatchId: string | null
  status: string
  currency: string
  commissionCents: number
  taxWithheldCents: number
  commissionId: string | null
}

/** One page of the export, rendered in the report thread. */
export const ledgerReport = defineReport(
  import.meta.url,
  'ledgerReport',
  async (db, { shopId, query }: { shopId: string; query: LedgerQuery }): Promise<LedgerPage> => {
    const { rows, next } = await pageOf(db, shopId, query)
    const contacts = await findContacts(db, shopId, new Set(rows.map(({ affiliateId }) => affiliateId)))
    const lines = rows.map((row) => {
      const date = localDate(row.at, query.timeZone)
      const netCents = row.commissionCents - row.taxWithheldCents
      const line = { name: '', email: '', ...contacts.get(row.affiliateId), ...row, date, netCents }
      return csvLine(HEADER.map((column) => line[column]))
    })
    return { text: lines.join(''), next }
  },
)

type Db = Parameters<typeof findContacts>[0]

async function pageOf(
  db: Db,
  shopId: string,
  query: LedgerQuery,
): Promise<{ rows: LedgerRow[]; next: LedgerCursor | null }> {
  if (query.section === 'PAYMENTS') return paymentsOf(db, shopId, query)
  if (query.section === 'REFUNDS') {
    const { page, next } = await listLedgerRefunds(db, shopId, query)
    const rows = page.map((row) => ({
      at: row.refundedAt,
      id: row.externalRefundId,
      kind: 'REFUND',
      affiliateId: row.affiliateId,
      order: row.externalOrderId ?? row.orderId,
      refundId: row.externalRefundId,
      payoutBatchId: row.payoutBatchId,
      status: row.orderStatus,
      currency: row.currency,
      commissionCents: row.commissionCents,
      taxWithheldCents: row.taxCents,
      commissionId: row.commissionId,
    }))
    return { rows, next }
  }
  const { page, next } = await listLedgerCommissions(db, shopId, query)
  const rows = page.map((row) => ({
    at: row.happenedAt,
    id: row.id,
    kind: row.trackingMethod === 'ADJUSTMENT' ? 'ADJUSTMENT' : 'ORDER',
    affiliateId: row.affiliateId,
    order: row.externalOrderId ?? row.orderId,
    refundId: null,
    payoutBatchId: row.payoutBatchId,
    status: row.orderStatus,
    currency: row.currency,
    // The original commission. Refunds are separate rows.
    commissionCents: row.commissionAmountCents - row.refundedCents,
    taxWithheldCents: row.taxWithheldCents - row.refundedTaxCents,
    commissionId: row.id,
  }))
  return { rows, next }
}

/** One batch's payments per page. */
async function paymentsOf(db: Db, shopId: string, { from, to, after }: LedgerQuery) {
  const batch = await findLedgerBatch(db, shopId, { from, to, after })
  if (!batch) return { rows: [], next: null }
  const payments = await listLedgerPayments(db, shopId, { batchId: batch.id, from, to })
  const rows = payments
    .filter(({ commissionCents, taxWithheldCents }) => commissionCents !== taxWithheldCents)
    .map(({ at, affiliateId, currency, commissionCents, taxWithheldCents }) => ({
      at,
      id: batch.id,
      kind: 'PAYMENT',
      affiliateId,
      order: null,
      refundId: null,
      payoutBatchId: batch.id,
      status: 'PAID',
      currency,
      commissionCents: -commissionCents,
      taxWithheldCents: -taxWithheldCents,
      commissionId: null,
    }))
  return { rows, next: { at: '', id: batch.id } }
}
