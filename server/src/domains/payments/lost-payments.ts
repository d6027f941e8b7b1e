import { type Context, type Deps, nowIso } from '../../core/context.ts'
import { mutate } from '../../core/mutate.ts'
import { chunks } from '../../database/chunks.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { withConnection } from '../../database/open.ts'
import { deleteRows, insertRow } from '../../database/rows.ts'
import type { PayoutBatchRow, PayoutFileRow, PayoutLineRow } from '../../database/tables.ts'
import { paymentReference } from '../../engine/payment-line.ts'
import { payoutLines } from '../../engine/payout.ts'
import { findShop } from '../accounts/queries.ts'
import { operatorContext } from '../accounts/shops.ts'
import { sumLine } from '../ledger/batch-commissions.ts'
import {
  deleteDiscardedLines,
  deleteLinesOfFile,
  findFile,
  findLinesOfBatch,
  insertLines,
  listLinesOfFile,
} from '../ledger/payment-lines.ts'
import { findBatch } from '../ledger/payouts.ts'

type SentFile = Awaited<ReturnType<typeof sentFiles>>[number]

/** What a backup lacks compared with the database it replaces. Payments that it does not know could be made again. */
export interface LostPayments {
  /** Payment files that were sent. */
  files: SentFile[]
  /** Files whose payments were settled or returned. */
  results: SentFile[]
  /** Batches that were paid. */
  batches: Pick<PayoutBatchRow, 'shopId' | 'id' | 'currency' | 'netPayableCents'>[]
}

/** A sent payment that does not fit into the restored database. */
type LeftPayment = Pick<PayoutLineRow, 'shopId' | 'fileId' | 'affiliateId' | 'amountCents' | 'currency'> & {
  paymentReference: string
  reason: 'batch_missing' | 'batch_differs'
}

interface CarriedPayments {
  carriedOver: number
  left: LeftPayment[]
}

/** Compares a restored database with the one it replaces. Both are database URLs. */
export const findLostPayments = (replaced: string, restored: string): Promise<LostPayments> =>
  withConnection<LostPayments>(replaced, (from) => withConnection(restored, (to) => compare(from, to)))

async function compare(from: Reader, to: Reader): Promise<LostPayments> {
  const key = ({ shopId, id }: { shopId: string; id: string }) => `${shopId} ${id}`
  const known = new Map((await sentFiles(to)).map((file) => [key(file), file]))
  const paid = new Set((await paidBatches(to)).map(key))
  const files = await sentFiles(from)
  const hasNewResults = (file: SentFile) => {
    const { settledLines = 0, returnedLines = 0 } = known.get(key(file)) ?? {}
    return file.settledLines !== settledLines || file.returnedLines !== returnedLines
  }
  return {
    files: files.filter((file) => !known.has(key(file))),
    results: files.filter(hasNewResults),
    batches: (await paidBatches(from)).filter((batch) => !paid.has(key(batch))),
  }
}

const sentFiles = (db: Reader) =>
  db
    .selectFrom('payoutFiles')
    .select(['shopId', 'id', 'batchId', 'format', 'currency', 'lines', 'totalCents', 'settledLines', 'returnedLines'])
    .where('status', '=', 'SENT')
    .orderBy('shopId')
    .orderBy('id')
    .execute()

const paidBatches = (db: Reader): Promise<LostPayments['batches']> =>
  db
    .selectFrom('payoutBatches')
    .select(['shopId', 'id', 'currency', 'netPayableCents'])
    .where('status', '=', 'PAID')
    .orderBy('shopId')
    .orderBy('id')
    .execute()

export const isNothingLost = ({ files, results, batches }: LostPayments): boolean =>
  files.length + results.length + batches.length === 0

/** One line per file and batch. */
export const describeLost = ({ files, results, batches }: LostPayments): string[] => [
  ...files.map(
    ({ shopId, id, batchId, format, currency, lines, totalCents }) =>
      `Payment file ${id} (${format}) of shop ${shopId}, batch ${batchId}: sent payments ${lines}, ${totalCents} cents ${currency}.`,
  ),
  ...results.map(
    ({ shopId, id, settledLines, returnedLines }) =>
      `Payment file ${id} of shop ${shopId}: settled payments ${settledLines}, returned payments ${returnedLines}.`,
  ),
  ...batches.map(
    ({ shopId, id, currency, netPayableCents }) =>
      `Payout batch ${id} of shop ${shopId} was paid: ${netPayableCents} cents ${currency}.`,
  ),
]

/**
 * Adds the sent payments that a restored database lacks, as `SENT`, so that they are not sent again. Returns the
 * payments whose batch or amount differs in the restored database instead.
 */
export async function carryPaymentsOver(
  deps: Deps,
  replaced: string,
  { files }: LostPayments,
): Promise<CarriedPayments> {
  const result: CarriedPayments = { carriedOver: 0, left: [] }
  for (const { shopId, id } of files) {
    const file = await withConnection(replaced, (db) => readFile(db, { shopId, id }))
    const hasShop = (await findShop(deps.db.read, shopId)) !== undefined
    const added = hasShop ? await carryFileOver(await operatorContext(deps, shopId), file) : new Set()
    result.carriedOver += added.size
    const batch = await findBatch(deps.db.read, shopId, file.file.batchId)
    const reason = batch ? 'batch_differs' : 'batch_missing'
    for (const { id, fileId, affiliateId, amountCents, currency } of file.lines) {
      const payment = { shopId, fileId, paymentReference: paymentReference(id), affiliateId, amountCents, currency }
      if (!added.has(id)) result.left.push({ ...payment, reason })
    }
  }
  return result
}

interface FileWithLines {
  file: PayoutFileRow
  lines: PayoutLineRow[]
}

async function readFile(db: Reader, { shopId, id }: Pick<PayoutFileRow, 'shopId' | 'id'>): Promise<FileWithLines> {
  const file = await findFile(db, shopId, id)
  if (!file) throw new Error(`Payment file ${id} is missing`)
  const limit = Math.max(1, file.lines)
  return { file, lines: await listLinesOfFile(db, shopId, { fileId: id, after: undefined, limit }) }
}

/** How many lines' affiliates are looked up in one statement. */
const MAX_LINES_AT_ONCE = 100

/** @returns the IDs of the added lines */
const carryFileOver = (ctx: Context, { file, lines }: FileWithLines): Promise<Set<string>> =>
  mutate(ctx, async (trx) => {
    const { shopId, id, batchId, format, currency } = file
    const batch = await findBatch(trx, shopId, batchId)
    const added: PayoutLineRow[] = []
    if (batch?.status === 'OPEN') {
      // The backup was taken while lines were added to the file.
      await deleteLinesOfFile(trx, { shopId, id, limit: Number.MAX_SAFE_INTEGER })
      await deleteRows(trx, 'payoutFiles', { shopId, id })
      for (const some of chunks(lines, MAX_LINES_AT_ONCE)) added.push(...(await fittingLines(trx, file, some)))
    }
    if (added.length === 0) return { result: new Set(), audit: null }
    const totalCents = added.reduce((sum, { amountCents }) => sum + amountCents, 0)
    const updatedAt = nowIso(ctx)
    const none = { settledLines: 0, settledCents: 0, returnedLines: 0, returnedCents: 0, assumedPaid: 0 as const }
    await insertRow(trx, 'payoutFiles', { ...file, ...none, lines: added.length, totalCents, updatedAt })
    const unreported = { state: 'SENT' as const, reference: null, reason: null, date: null, updatedAt }
    await insertLines(
      trx,
      added.map((line) => ({ ...line, ...unreported })),
    )
    const data = { batchId, format, currency, lines: added.length, totalCents }
    return {
      result: new Set(added.map((line) => line.id)),
      audit: { action: 'payout_file.created', subjectId: id, data },
    }
  })

/** Lines that pay exactly what the batch still owes their affiliates. */
async function fittingLines(
  trx: Transaction,
  { shopId, batchId }: PayoutFileRow,
  lines: PayoutLineRow[],
): Promise<PayoutLineRow[]> {
  const affiliateIds = lines.map(({ affiliateId }) => affiliateId)
  await deleteDiscardedLines(trx, shopId, batchId, affiliateIds)
  const stored = await findLinesOfBatch(trx, shopId, batchId, affiliateIds)
  const fitting: PayoutLineRow[] = []
  for (const line of lines) {
    const [due] = payoutLines(await sumLine(trx, shopId, batchId, line.affiliateId)) ?? []
    const isSame =
      due?.commissionCents === line.commissionCents && due.netPayableCents === line.amountCents && due.commissions > 0
    if (isSame && !stored.has(line.affiliateId)) fitting.push(line)
  }
  return fitting
}

/** Lists what was carried over, and each payment that must not be sent again. */
export const describeCarried = ({ carriedOver, left }: CarriedPayments): string[] => [
  `Sent payments carried over: ${carriedOver}.`,
  ...left.map(
    ({ shopId, paymentReference, affiliateId, amountCents, currency, reason }) =>
      `Not carried over, because its batch ${reason === 'batch_missing' ? 'is not in the restored database' : 'differs'}: ${paymentReference} of shop ${shopId} to ${affiliateId}, ${amountCents} cents ${currency}.`,
  ),
]
