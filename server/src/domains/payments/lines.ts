import { setTimeout as sleep } from 'node:timers/promises'
import type { components } from '../../contract/schema.d.ts'
import type { Query } from '../../contract/spec.ts'
import type { Context } from '../../core/context.ts'
import { type FileColumn, spreadsheetHeading, spreadsheetRow } from '../../core/csv.ts'
import { toUnits } from '../../core/currencies.ts'
import { readFrom } from '../../core/lists.ts'
import { recordAccess } from '../../core/mutate.ts'
import { FLUSH, toByteStream } from '../../core/ndjson.ts'
import { type Page, toPage } from '../../core/pagination.ts'
import { chunks } from '../../database/chunks.ts'
import { defineReport, type Reader } from '../../database/database.ts'
import type { PayoutBatchRow, PayoutLineRow } from '../../database/tables.ts'
import { blockedReason, type PaymentMethod, paymentReference } from '../../engine/payment-line.ts'
import { payoutLines } from '../../engine/payout.ts'
import { findAffiliatesById, findMethods } from '../affiliates/queries.ts'
import { sumBatches } from '../ledger/batch-commissions.ts'
import { payoutNotFound } from '../ledger/batch-totals.ts'
import { findLinesOfBatch } from '../ledger/payment-lines.ts'
import { findBatch, listBatches } from '../ledger/payouts.ts'

type Schemas = components['schemas']
type State = 'READY' | 'SENT' | 'SETTLED' | 'RETURNED' | 'BLOCKED'
type PaymentLine = Schemas['PaymentLine']
/** A line before its affiliate is named. */
type UnnamedLine = Omit<PaymentLine, 'name' | 'email'> & { state: State }
type Totals = Record<State, { lines: number; cents: number }>

/**
 * Lists the payments of a batch, and records the access.
 *
 * @throws ApiError 404 `payout_not_found`, 503 `audit_unavailable`.
 */
export async function list(
  ctx: Context,
  batchId: string,
  query: Query<'listPayoutLines'>,
): Promise<Page<PaymentLine> & { totals: Totals }> {
  const described = await describeLines(ctx, batchId, query)
  await recordAccess(ctx, 'payout_lines.listed', batchId)
  return described
}

/** {@link list} for a caller that records the access. */
export async function describeLines(
  ctx: Context,
  batchId: string,
  { state, page, limit }: Query<'listPayoutLines'>,
): Promise<Page<PaymentLine> & { totals: Totals }> {
  const batch = await findBatch(ctx.db.read, ctx.shop.id, batchId)
  if (!batch) throw payoutNotFound()
  const query = { batch, state, page, limit }
  return readFrom(ctx, paymentLinesReport, query)
}

/** The payments of a batch that are in no payment file: ready or blocked. Does not audit; the caller must. */
export async function sumUnsent(ctx: Context, batchId: string): Promise<{ lines: number; cents: number }> {
  const { totals } = await describeLines(ctx, batchId, { page: 1, limit: 1 })
  const { READY, BLOCKED } = totals
  return { lines: READY.lines + BLOCKED.lines, cents: READY.cents + BLOCKED.cents }
}

interface LinesQuery {
  batch: PayoutBatchRow
  state: Schemas['PayoutLineState'] | undefined
  page: number
  limit: number
}

/** Reads every commission of the batch, so it runs in the report worker. */
export const paymentLinesReport = defineReport(
  import.meta.url,
  'paymentLinesReport',
  async (db, { shopId, query: { batch, state, page, limit } }: { shopId: string; query: LinesQuery }) => {
    const all = await readLines(db, batch)
    const totals: Totals = { READY: none(), SENT: none(), SETTLED: none(), RETURNED: none(), BLOCKED: none() }
    for (const line of all) {
      totals[line.state].lines++
      totals[line.state].cents += line.amountCents
    }
    const matching = state ? all.filter((line) => line.state === state) : all
    const shown = matching.slice((page - 1) * limit, page * limit)
    const data = await withContacts(db, shopId, shown)
    return { ...toPage(data, { page, limit }, matching.length), totals }
  },
  { isLong: true },
)

const none = () => ({ lines: 0, cents: 0 })

async function withContacts(db: Reader, shopId: string, lines: UnnamedLine[]): Promise<PaymentLine[]> {
  const ids = lines.map((line) => line.affiliateId)
  const contacts = new Map((await findAffiliatesById(db, shopId, ids)).map((row) => [row.id, row]))
  return lines.map(({ affiliateId, ...line }) => {
    const { name = '', email = '' } = contacts.get(affiliateId) ?? {}
    return { affiliateId, name, email, ...line }
  })
}

/** All payments of a batch as CSV, for a spreadsheet. Only payment files contain account details. Does not audit; the caller must. */
export async function describeAllLines(ctx: Context, batchId: string): Promise<ReadableStream<Uint8Array>> {
  const batch = await findBatch(ctx.db.read, ctx.shop.id, batchId)
  if (!batch) throw payoutNotFound()
  const reading = readFrom(ctx, paymentLinesFile, { batch })
  // A report that is rejected at once is shown as an error. Later, the download ends early.
  await Promise.race([reading, sleep(REJECTED_MS, undefined, { ref: false })])
  return toByteStream(linesOfFile(reading))
}

/** A full queue rejects a report at once. */
const REJECTED_MS = 5

/** The heading is sent while the lines of a large batch are added up. */
async function* linesOfFile(reading: Promise<string[]>): AsyncGenerator<string, void> {
  yield spreadsheetHeading(FILE_COLUMNS)
  yield FLUSH
  yield* await reading
}

const FILE_COLUMNS: FileColumn<PaymentLine>[] = [
  ['name', ({ name }) => name],
  ['email', ({ email }) => email],
  ['amount', ({ amountCents, currency }) => ({ decimal: toUnits(amountCents, currency) })],
  ['currency', ({ currency }) => currency],
  ['state', ({ state }) => state],
  ['method', ({ method }) => method],
  ['paymentReference', ({ paymentReference }) => paymentReference],
  ['reference', ({ reference }) => reference],
  ['date', ({ date }) => date],
]

const LINES_AT_ONCE = 1000

/** Text instead of rows, since a large batch has a hundred thousand, which would take the event loop long to receive. */
export const paymentLinesFile = defineReport(
  import.meta.url,
  'paymentLinesFile',
  async (db, { shopId, query: { batch } }: { shopId: string; query: { batch: PayoutBatchRow } }): Promise<string[]> => {
    const lines = await withContacts(db, shopId, await readLines(db, batch))
    return chunks(lines, LINES_AT_ONCE).map((some) => some.map((line) => spreadsheetRow(FILE_COLUMNS, line)).join(''))
  },
  { isLong: true },
)

/** The lines of a batch with an amount to pay, by affiliate id. Only those that were sent are stored. */
async function readLines(db: Reader, batch: PayoutBatchRow): Promise<UnnamedLine[]> {
  const { shopId, id: batchId, currency } = batch
  const sums = payoutLines(await sumBatches(db, shopId, [batchId])) ?? []
  const [methods, sentLines] = await Promise.all([
    findMethods(
      db,
      shopId,
      sums.map(({ affiliateId }) => affiliateId),
    ),
    findLinesOfBatch(db, shopId, batchId),
  ])
  return sums
    .filter(({ netPayableCents }) => netPayableCents > 0)
    .map(({ affiliateId, netPayableCents: amountCents }) => {
      const row = sentLines.get(affiliateId)
      if (row) return sentLine(batch, row)
      const method = methods.get(affiliateId) ?? null
      const unsent = { id: null, affiliateId, amountCents, currency, method, fileId: null, paymentReference: null }
      if (batch.status === 'PAID') return { ...unsent, state: 'SETTLED', reason: null, ...manual(batch) }
      const reason = blockedReason(method, currency, amountCents)
      return { ...unsent, state: reason ? 'BLOCKED' : 'READY', reason, reference: null, date: null }
    })
}

/** Marking a batch as paid settles all of its lines that no report has settled or returned. */
const manual = ({ paidAt }: PayoutBatchRow) => ({ reference: 'manual', date: paidAt?.slice(0, 10) ?? null })

function sentLine(batch: PayoutBatchRow, row: PayoutLineRow): UnnamedLine {
  const { id, affiliateId, amountCents, currency, method, fileId, state, reason, reference, date } = row
  const line = { id, affiliateId, amountCents, currency, method, fileId, paymentReference: paymentReference(id) }
  return state === 'SENT' && batch.status === 'PAID'
    ? { ...line, state: 'SETTLED', reason, ...manual(batch) }
    : { ...line, state, reason, reference, date }
}

/** An open batch's blocked payments, and the first affiliates' names. */
interface BlockedPayments {
  batchId: string
  currency: string
  lines: number
  cents: number
  affiliates: { id: string; name: string }[]
}

const MAX_NAMED = 3
/** The newest open batches. */
const MAX_BATCHES = 3
/** Lines are read commission by commission. The page of a larger batch shows what is blocked. */
const MAX_COMMISSIONS = 2000

/** Blocked payments of open batches, and how many batches were not read. Does not audit; the caller must. */
export async function readBlocked(ctx: Context): Promise<{ blocked: BlockedPayments[]; unread: number }> {
  const { data, pagination } = await listBatches(ctx.db.read, ctx.shop.id, {
    status: 'OPEN',
    page: 1,
    limit: MAX_BATCHES,
  })
  const small = data.filter(({ commissions }) => commissions <= MAX_COMMISSIONS)
  const blocked = small.map(async (batch): Promise<BlockedPayments> => {
    const query = { batch, state: 'BLOCKED' as const, page: 1, limit: MAX_NAMED }
    const { data: lines, totals } = await readFrom(ctx, paymentLinesReport, query)
    const affiliates = lines.map(({ affiliateId: id, name }) => ({ id, name: name || id }))
    return { batchId: batch.id, currency: batch.currency, ...totals.BLOCKED, affiliates }
  })
  const read = await Promise.all(blocked)
  return { blocked: read.filter(({ lines }) => lines > 0), unread: pagination.total - read.length }
}

/** The affiliates of a batch with an amount that can be sent by one of these methods, and how many are ready or blocked in all. */
export const sendableReport = defineReport(
  import.meta.url,
  'sendableReport',
  async (
    db,
    { shopId, query: { batchId, methods } }: { shopId: string; query: { batchId: string; methods: PaymentMethod[] } },
  ): Promise<{ sendable: Pick<UnnamedLine, 'affiliateId' | 'amountCents'>[]; ready: number; blocked: number }> => {
    const batch = await findBatch(db, shopId, batchId)
    const lines = batch ? await readLines(db, batch) : []
    const isSendable = ({ state, method }: UnnamedLine) =>
      state === 'READY' && methods.some((supported) => supported === method)
    return {
      sendable: lines.filter(isSendable).map(({ affiliateId, amountCents }) => ({ affiliateId, amountCents })),
      ready: lines.filter(({ state }) => state === 'READY').length,
      blocked: lines.filter(({ state }) => state === 'BLOCKED').length,
    }
  },
  { isLong: true },
)
