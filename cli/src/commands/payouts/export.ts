import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { paymentText } from '@referral/server/payment-file'
import { csvLine } from '../../csv/write.ts'
import { CliError, type ExitCode, exitCode, usageError } from '../../errors.ts'
import { formatMoney, sumCents } from '../../money.ts'
import type { Run } from '../../run.ts'
import { type ExportFormat, exportFormats, type PayoutRow } from './batch-formats.ts'
import { type BatchWithLines, checkTotal, dueCentsOf, readBatch } from './batches.ts'
import { type ExportOptions, type FileDraft, printFiles, writeFiles } from './export-files.ts'

/** Exports batches' payees: one file per currency, split at the maximum number of rows. */
export async function exportBatches(
  run: Run,
  ids: readonly string[],
  options: ExportOptions,
): Promise<ExitCode | undefined> {
  if (options.expectTotal !== undefined && new Set(ids).size > 1)
    throw usageError('--expect-total requires exactly one batch.', 'Export each batch with its own total.')
  if (options.fileId !== undefined) return exportSent(run, ids, { ...options, fileId: options.fileId })
  const { format } = options
  if (format === 'sepa')
    throw usageError('--format sepa requires --file-id.', 'A SEPA file contains payee details, so its lines are sent.')
  const client = await run.client()
  const batches: BatchWithLines[] = []
  for (const id of new Set(ids)) batches.push(verifyTotals(await readBatch(client, id)))
  for (const batch of batches) {
    checkTotal(batch, options.expectTotal, 'Nothing was exported.')
    rejectSent(batch, format)
  }
  for (const batch of batches)
    if (batch.status === 'OPEN')
      run.reporter.info(`${batch.id} is open and can still change. Pay it with --expect-total ${dueCentsOf(batch)}`)
  for (const { id, currency, sentCents } of batches)
    if (sentCents)
      run.reporter.warn(
        `${id} has ${formatMoney(sentCents, currency)} that payment files contain already, and this one too. Add --file-id to export only what is not sent.`,
      )
  const { files, excluded } = buildFiles(batches, { ...options, format, timeZone: await run.timeZone() })
  if (!run.dryRun) writeFiles(files, options)
  printFiles(run, files)
  for (const { payee, currency, reason } of excluded)
    run.reporter.warn(
      `left out: ${payee.name} <${payee.email}> ${formatMoney(payee.netPayableCents, currency)}: ${reason}`,
    )
  const owed = excluded.filter(({ payee }) => payee.netPayableCents > 0)
  return owed.length ? exitCode.partial : undefined
}

/** Marks the lines of one batch as sent. */
async function exportSent(
  run: Run,
  ids: readonly string[],
  options: ExportOptions & { fileId: string },
): Promise<ExitCode | undefined> {
  const [batchId = '', ...others] = new Set(ids)
  if (others.length > 0) throw usageError('--file-id requires exactly one batch.', 'Export each batch to its own file.')
  if (options.expectTotal !== undefined)
    checkTotal(await readBatch(await run.client(), batchId), options.expectTotal, 'Nothing was exported.')
  const { exportPaymentFile } = await import('./payment-file.ts')
  return exportPaymentFile(run, batchId, options)
}

/** Rejects a batch whose lines do not add up to its total. */
function verifyTotals(batch: BatchWithLines): BatchWithLines {
  const sum = sumCents(batch.lines.map((line) => line.netPayableCents))
  if (batch.status === 'FAILED')
    throw new CliError(exitCode.conflict, `Batch ${batch.id} is FAILED and has nothing to pay.`, {
      code: 'payout_not_payable',
    })
  if (sum !== BigInt(batch.totals.netPayableCents))
    throw new CliError(
      exitCode.unexpected,
      `The lines of ${batch.id} add up to ${sum} cents, but its total is ${batch.totals.netPayableCents}.`,
      {
        code: 'payout_does_not_add_up',
      },
    )
  return batch
}

type ExcludedPayee = { payee: PayoutRow; currency: string; reason: string }

function buildFiles(
  batches: readonly BatchWithLines[],
  options: ExportOptions & { format: keyof typeof exportFormats; timeZone: string },
): { files: FileDraft[]; excluded: ExcludedPayee[] } {
  const format = exportFormats[options.format]
  const excluded: ExcludedPayee[] = []
  const files: FileDraft[] = []
  for (const [currency, group] of Map.groupBy(batches, (batch) => batch.currency)) {
    const payees = group.flatMap((batch) =>
      batch.lines.map(
        (line): PayoutRow => ({ ...line, batchId: batch.id, note: paymentText(batch, options.timeZone) }),
      ),
    )
    const payable = payees.filter((payee) => {
      const reason = format.exclusionReason(payee, currency)
      if (reason !== undefined) excluded.push({ payee, currency, reason })
      return reason === undefined
    })
    const parts = Math.ceil(payable.length / format.maxRows)
    const stem = `payouts-${options.format}-${currency}-${group.length === 1 ? group[0]?.id : `${group.length}-batches`}`
    for (let part = 0; part < parts; part++) {
      const rows = payable.slice(part * format.maxRows, (part + 1) * format.maxRows)
      const file = join(options.dir, `${stem}${parts > 1 ? `-${part + 1}` : ''}.csv`)
      files.push({ file, currency, ...renderFile(rows, currency, format) })
    }
  }
  return { files, excluded }
}

function renderFile(
  rows: readonly PayoutRow[],
  currency: string,
  format: ExportFormat,
): Omit<FileDraft, 'file' | 'currency'> {
  const head = format.header ? csvLine(format.header) : ''
  const text = head + rows.map((payee) => csvLine(format.cells(payee, currency))).join('')
  const total = sumCents(rows.map((payee) => payee.netPayableCents))
  const totalCents = Number(total)
  if (!Number.isSafeInteger(totalCents))
    throw new CliError(
      exitCode.conflict,
      `The total of these batches, ${formatMoney(total, currency)}, is too large to represent exactly.`,
      {
        code: 'total_too_large',
        hint: 'Export fewer batches at a time.',
      },
    )
  return { text, rows: rows.length, totalCents, sha256: createHash('sha256').update(text).digest('hex') }
}

/**
 * A payment service's file must not repeat what another file pays, or what the next batch pays because it was returned.
 */
function rejectSent({ id, currency, sentCents }: BatchWithLines, format: ExportOptions['format']): void {
  if (!sentCents || format === 'csv') return
  const amount = formatMoney(sentCents, currency)
  throw new CliError(
    exitCode.conflict,
    `Payment files of ${id} contain ${amount} already, which would be paid twice.`,
    {
      code: 'payout_has_sent_lines',
      hint: 'Add --file-id with a new id to export only what is not sent.',
    },
  )
}
