import { conflict, notFound, payoutProcessing } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { type AuditEntry, mutate } from '../../core/mutate.ts'
import type { Transaction } from '../../database/database.ts'
import { updateRows } from '../../database/rows.ts'
import type { PayoutFileRow } from '../../database/tables.ts'
import { deleteLinesOfFile, findFile, listPreparing } from '../ledger/payment-lines.ts'
import { findBatch } from '../ledger/payouts.ts'

type PayoutFile = components['schemas']['PayoutFile']

/** How many lines are deleted in one transaction. */
const MAX_DELETED = 200

/**
 * Discards a file that was never uploaded: its lines can be sent in another file. Repeating it changes nothing.
 *
 * @throws ApiError 404 `payout_file_not_found`, 409 `payout_file_not_discardable` or `payout_already_paid`.
 */
export async function discard(ctx: Context, id: string): Promise<PayoutFile> {
  const discarded = await mutate(ctx, async (trx) => {
    const file = await findFile(trx, ctx.shop.id, id)
    if (!file) throw fileNotFound()
    if (file.status === 'DISCARDED') return { result: file, audit: null }
    if (file.settledLines + file.returnedLines > 0)
      throw notDiscardable('Payments of this file were already reconciled')
    if (file.assumedPaid) throw notDiscardable('Orders of this file were refunded or canceled since it was created')
    const batch = await findBatch(trx, ctx.shop.id, file.batchId)
    if (batch?.status === 'PROCESSING') throw payoutProcessing()
    if (batch?.status === 'PAID') throw conflict('payout_already_paid', 'This payout batch is already PAID.')
    const { after, audit } = await discardFile(ctx, trx, file)
    return { result: after, audit }
  })
  await deleteLines(ctx, [id])
  return toFile(discarded)
}

/** Discards a batch's incomplete files, so that they are never sent. Returns their audit records. */
export async function discardPreparing(ctx: Context, trx: Transaction, batchId: string): Promise<AuditEntry[]> {
  const audits: AuditEntry[] = []
  for (const file of await listPreparing(trx, ctx.shop.id, batchId))
    audits.push((await discardFile(ctx, trx, file)).audit)
  return audits
}

/** From then on, its lines do not count. */
async function discardFile(ctx: Context, trx: Transaction, file: PayoutFileRow) {
  const changes = { status: 'DISCARDED' as const, lines: 0, totalCents: 0, updatedAt: nowIso(ctx) }
  await updateRows(trx, 'payoutFiles', { shopId: file.shopId, id: file.id }, changes)
  const { batchId, format, currency, lines, totalCents } = file
  const data = { batchId, format, currency, lines, totalCents }
  return { after: { ...file, ...changes }, audit: { action: 'payout_file.discarded', subjectId: file.id, data } }
}

/** Deletes discarded files' lines in steps. Lines left by a crash are deleted when their affiliates are sent again. */
export async function deleteLines(ctx: Context, fileIds: string[]): Promise<void> {
  for (const id of fileIds) {
    for (let deleted = MAX_DELETED; deleted === MAX_DELETED; ) {
      const file = { shopId: ctx.shop.id, id, limit: MAX_DELETED }
      deleted = await ctx.db.transact((trx) => deleteLinesOfFile(trx, file), ctx.shop.id)
    }
  }
}

export const toFile = (row: PayoutFileRow): PayoutFile => ({
  id: row.id,
  batchId: row.batchId,
  format: row.format,
  currency: row.currency,
  status: row.status,
  executionDate: row.executionDate,
  lines: row.lines,
  totalCents: row.totalCents,
  settledLines: row.settledLines,
  settledCents: row.settledCents,
  returnedLines: row.returnedLines,
  returnedCents: row.returnedCents,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
})

export const fileNotFound = () => notFound('payout_file_not_found', 'No payment file with this id exists in your shop.')

const notDiscardable = (reason: string) =>
  conflict(
    'payout_file_not_discardable',
    `${reason}, so it cannot be discarded. Reconcile its remaining payments as RETURNED.`,
  )
