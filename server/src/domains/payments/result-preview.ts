import { invalidBody } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Context } from '../../core/context.ts'
import { readFrom } from '../../core/lists.ts'
import { recordAccess } from '../../core/mutate.ts'
import { UnreadableFileError } from '../../core/unreadable-file.ts'
import { chunks } from '../../database/chunks.ts'
import { defineReport, type Reader } from '../../database/database.ts'
import { lineIdOf, paymentReference } from '../../engine/payment-line.ts'
import { findAffiliatesById } from '../affiliates/queries.ts'
import { findFile, findLines, listLinesOfFile } from '../ledger/payment-lines.ts'
import type { ReportedResults } from './payment-results.ts'
import { previewDecisions } from './reconcile.ts'

type Schemas = components['schemas']
type PaymentResult = Schemas['PaymentResult']

/** A payment in the report, and what recording its result would do. */
export interface PreviewedResult {
  result: PaymentResult
  decision: Schemas['ReconciledResult']['result']
  /** The sent payment. Null for an unknown reference. */
  sent: { batchId: string; affiliateId: string; name: string; amountCents: number; currency: string } | null
}

export interface ResultPreview extends Pick<ReportedResults, 'kind' | 'others'> {
  results: PreviewedResult[]
  /** The number of payments that are not final. */
  pending: number
  /** The number of rows that cannot be read. */
  unreadable: number
  /** The first rows' problems. */
  problems: string[]
}

/** More would take too long for a page. */
export const MAX_RESULTS = 20_000
const MAX_PROBLEMS = 10
const ROWS_AT_ONCE = 500
const TIMEOUT_MS = 60_000

/**
 * Reads a file from a bank or payment service and shows what recording it would do. Changes nothing, and records the
 * access.
 *
 * @throws ApiError 400 `invalid_body` for a file that cannot be read.
 */
export async function previewResults(ctx: Context, report: Uint8Array): Promise<ResultPreview> {
  const preview = await readFrom(ctx, resultPreviewReport, report, TIMEOUT_MS)
  if ('rejected' in preview) throw invalidBody(preview.rejected)
  await recordAccess(ctx, 'payout_lines.listed', null)
  return preview
}

/** A file can have several megabytes, so the report thread reads it. */
export const resultPreviewReport = defineReport(
  import.meta.url,
  'resultPreviewReport',
  async (
    db,
    { shopId, query: report }: { shopId: string; query: Uint8Array },
  ): Promise<ResultPreview | { rejected: string }> => {
    try {
      const { kind, pending, others, ...reported } = await readReport(report)
      const ofFiles = await resultsOfFiles(db, shopId, reported)
      const results = [...reported.results, ...ofFiles.results]
      if (results.length > MAX_RESULTS)
        throw new UnreadableFileError(
          `The file reports more than ${MAX_RESULTS} payments.`,
          'Split it, or use `referral payouts reconcile`.',
        )
      const previewed = await preview(db, shopId, results)
      const problems = [...reported.problems, ...ofFiles.problems]
      return {
        kind,
        others,
        results: previewed,
        pending: pending.length,
        unreadable: problems.length,
        problems: problems.slice(0, MAX_PROBLEMS),
      }
    } catch (error) {
      if (!(error instanceof UnreadableFileError)) throw error
      const text = [error.message, error.hint].filter(Boolean).join(' ')
      return { rejected: text.charAt(0).toUpperCase() + text.slice(1) }
    }
  },
)

/** Loads the parser with the first file. */
async function readReport(report: Uint8Array): Promise<ReportedResults> {
  const [{ decodeUtf8 }, { readPaymentResults }] = await Promise.all([
    import('../../core/parse-csv.ts'),
    import('./payment-results.ts'),
  ])
  return readPaymentResults(decodeUtf8(report, 'the file'), 'the file')
}

/** Results for payment files that were settled or rejected as a whole. */
async function resultsOfFiles(db: Reader, shopId: string, { files }: Pick<ReportedResults, 'files'>) {
  const results: PaymentResult[] = []
  const problems: string[] = []
  for (const { id, outcome, reason, date } of files) {
    if (!(await findFile(db, shopId, id))) problems.push(`Payment file ${id} is unknown; its status was ignored.`)
    for (let after: string | undefined; results.length <= MAX_RESULTS; ) {
      const lines = await listLinesOfFile(db, shopId, { fileId: id, after, limit: ROWS_AT_ONCE })
      for (const line of lines)
        results.push({ paymentReference: paymentReference(line.id), outcome, reason, date, amountCents: null })
      after = lines.at(-1)?.id
      if (lines.length < ROWS_AT_ONCE) break
    }
  }
  return { results, problems }
}

async function preview(db: Reader, shopId: string, results: PaymentResult[]): Promise<PreviewedResult[]> {
  const ids = results.map(({ paymentReference }) => lineIdOf(paymentReference))
  const lines = await byId(ids, (some) => findLines(db, shopId, some))
  const names = await byId(
    [...lines.values()].map(({ affiliateId }) => affiliateId),
    (some) => findAffiliatesById(db, shopId, some),
  )
  return previewDecisions(results, lines).map(({ result: decision, lineId }, index): PreviewedResult => {
    const result = results[index] as PaymentResult
    const line = lines.get(lineId ?? '')
    if (!line) return { result, decision, sent: null }
    const { batchId, affiliateId, amountCents, currency } = line
    const name = names.get(affiliateId)?.name ?? affiliateId
    return { result, decision, sent: { batchId, affiliateId, name, amountCents, currency } }
  })
}

/** Rows with these IDs, by ID. */
async function byId<Row extends { id: string }>(
  ids: (string | undefined)[],
  find: (ids: string[]) => Promise<Row[]>,
): Promise<Map<string, Row>> {
  const all = [...new Set(ids.filter((id) => id !== undefined))]
  const rows = new Map<string, Row>()
  for (const some of chunks(all, ROWS_AT_ONCE)) for (const row of await find(some)) rows.set(row.id, row)
  return rows
}
