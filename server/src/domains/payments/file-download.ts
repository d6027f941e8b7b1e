import { invalidField } from '../../contract/errors.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { readFrom } from '../../core/lists.ts'
import { toByteStream } from '../../core/ndjson.ts'
import { METHODS_OF } from '../../engine/payment-line.ts'
import { payoutNotFound } from '../ledger/batch-totals.ts'
import { findFile, listLinesOfFile } from '../ledger/payment-lines.ts'
import { findBatch } from '../ledger/payouts.ts'
import { fileNotFound, toFile } from '../payouts/discard.ts'
import { fileDiscarded, fileUnfinished, noteOf, openDebtor, toFileLine } from './files.ts'
import { sendableReport } from './lines.ts'
import { partsOf, paymentFileName, paymentFileWriter } from './payment-file.ts'

const LINES_AT_ONCE = 250
const TYPES = { csv: 'text/csv; charset=utf-8', xml: 'application/xml; charset=utf-8' }

/**
 * Returns a payment file as a bank or payment service reads it. A file's lines never change, so the same file has the
 * same content each time. Does not audit; the caller must.
 *
 * @param part the part of a split file, from 1
 * @throws ApiError 400 `invalid_parameter` for another part; 404 `payout_file_not_found`; 409 `payout_file_unfinished`,
 * `payout_file_exists` for a discarded file, or `payee_unreadable`.
 */
export async function download(ctx: Context, id: string, part: number) {
  const { read } = ctx.db
  const row = await findFile(read, ctx.shop.id, id)
  if (!row) throw fileNotFound()
  if (row.status === 'PREPARING') throw fileUnfinished()
  if (row.status === 'DISCARDED') throw fileDiscarded()
  const file = toFile(row)
  if (!Number.isInteger(part) || part < 1 || part > partsOf(file))
    throw invalidField('invalid_parameter', 'part', `must be an integer from 1 to ${partsOf(file)}.`)
  const batch = await findBatch(read, ctx.shop.id, row.batchId)
  if (!batch) throw payoutNotFound()
  const debtor = row.debtor === null ? null : openDebtor(ctx, row)
  const writer = paymentFileWriter({ file, debtor, note: noteOf(ctx, row, batch) })
  const readLines = (after: string | undefined) =>
    listLinesOfFile(read, ctx.shop.id, { fileId: id, after, limit: LINES_AT_ONCE })
  // Read before the response starts, so that details that cannot be decrypted cause an error, not a truncated file.
  const first = await readLines(undefined)
  for (const line of first) toFileLine(ctx, line)
  const start = (part - 1) * writer.maxRows
  async function* texts(): AsyncGenerator<string, void> {
    yield writer.head
    let position = 0
    for (let lines = first; lines.length > 0; lines = await readLines(lines.at(-1)?.id)) {
      const some = lines.slice(Math.max(0, start - position), Math.max(0, start + writer.maxRows - position))
      position += lines.length
      yield some.map((line) => writer.line(toFileLine(ctx, line))).join('')
      if (position >= start + writer.maxRows) break
      await ctx.recheck?.(read)
    }
    yield writer.tail
  }
  return { name: paymentFileName(file, part), type: TYPES[writer.extension], content: toByteStream(texts()) }
}

/** A batch's ready payments that a format can pay, and how many it cannot: ready for another format, or blocked. */
export async function sumSendable(
  ctx: Context,
  batchId: string,
  format: keyof typeof METHODS_OF,
): Promise<{ lines: number; cents: number; others: number; blocked: number }> {
  const query = { batchId, methods: [...METHODS_OF[format]] }
  const { sendable, ready, blocked } = await readFrom(ctx, sendableReport, query)
  const cents = sendable.reduce((sum, { amountCents }) => sum + amountCents, 0)
  return { lines: sendable.length, cents, others: ready - sendable.length, blocked }
}

/** A new file ID: `20261105-paypal-3fd2k9`. */
export const newFileId = (ctx: Context, format: string): string =>
  `${nowIso(ctx).slice(0, 10).replaceAll('-', '')}-${format}-${ctx.newId('pln').slice(-6).toLowerCase()}`
