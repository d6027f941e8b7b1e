import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { components, ReferralClient } from '@referral/sdk'
import { paymentFileName, renderPaymentFile } from '@referral/server/payment-file'
import { blockedText } from '@referral/server/payment-line'
import { type ExitCode, exitCode, unwrap, usageError } from '../../errors.ts'
import { formatMoney, sumCents } from '../../money.ts'
import { counted } from '../../output/text.ts'
import type { Run } from '../../run.ts'
import { type ExportOptions, type FileDraft, printFiles, writeFiles } from './export-files.ts'

type Schemas = components['schemas']
type PayoutFile = Schemas['PayoutFile']
type FileLine = Schemas['PayoutFileLine']

/**
 * Marks a batch's lines that a format can pay as sent, and writes them to a file. Repeating the ID writes the same
 * file. Payments that cannot be sent are reported.
 */
export async function exportPaymentFile(
  run: Run,
  batchId: string,
  options: ExportOptions & { fileId: string },
): Promise<ExitCode | undefined> {
  const { fileId, format } = options
  const body = { batchId, format, ...sepaOptions(options) }
  const path = `/admin/v1/payout-files/${encodeURIComponent(fileId)}`
  if (run.dryRun) return run.printDryRun('PUT', path, { batchId, format })
  const client = await run.ownerClient()
  const created = await client.PUT('/admin/v1/payout-files/{id}', { params: { path: { id: fileId } }, body })
  const { data: file } = unwrap(created)
  const { lines, debtor, note } = await readFile(client, file)
  const parts = renderPaymentFile({ file, debtor, note }, lines)
  const files = parts.map(({ text, lines: some }, part): FileDraft => {
    const name = join(options.dir, paymentFileName(file, part + 1))
    const sha256 = createHash('sha256').update(text).digest('hex')
    const totalCents = Number(sumCents(some.map(({ amountCents }) => amountCents)))
    return { file: name, currency: file.currency, rows: some.length, totalCents, sha256, text }
  })
  writeFiles(files, options)
  printFiles(run, files)
  return reportRest(run, client, batchId)
}

/** Options that only SEPA has. */
function sepaOptions({ format, fromName, fromIban, fromBic, executionDate }: ExportOptions) {
  const hasOption = [fromName, fromIban, fromBic, executionDate].some((option) => option !== undefined)
  if (format !== 'sepa') {
    if (hasOption)
      throw usageError('--from-name, --from-iban, --from-bic and --execution-date are allowed only with --format sepa.')
    return {}
  }
  if (!fromIban !== !fromName) throw usageError('--from-name and --from-iban belong together.')
  return {
    ...(fromName && fromIban && { debtor: { name: fromName, iban: fromIban, ...(fromBic && { bic: fromBic }) } }),
    ...(executionDate && { executionDate }),
  }
}

/** A file's lines, read in pages. */
export async function readFile(
  client: ReferralClient,
  { id }: Pick<PayoutFile, 'id'>,
): Promise<{ lines: FileLine[]; debtor: Schemas['Debtor'] | null; note: string }> {
  const lines: FileLine[] = []
  for (;;) {
    const after = lines.at(-1)?.id
    const params = { path: { id }, query: { ...(after && { after }) } }
    const page = unwrap(await client.GET('/admin/v1/payout-files/{id}/lines', { params }))
    lines.push(...page.data)
    if (!page.hasMore) return { lines, debtor: page.debtor, note: page.note }
  }
}

/** Reports payments that no file contains: blocked ones, and ones with another payment method. */
async function reportRest(run: Run, client: ReferralClient, batchId: string): Promise<ExitCode | undefined> {
  const { totals } = await readLines(client, batchId, { state: 'READY', limit: 1 })
  if (totals.READY.lines > 0)
    run.reporter.info(
      `${counted(totals.READY.lines, 'payment')} can be sent with another payment method. Export ${totals.READY.lines === 1 ? 'it' : 'them'} in the format of that method.`,
    )
  for (let page = 1; ; page++) {
    const { data, pagination } = await readLines(client, batchId, { state: 'BLOCKED', limit: 100, page })
    for (const line of data) {
      const { name, email, amountCents, currency } = line
      run.reporter.warn(
        `blocked: ${name} <${email}> ${formatMoney(amountCents, currency)}: ${blockedText(line)}${line.reason === 'no_payee_details' ? '; set them with `referral affiliates payee set`' : ''}`,
      )
    }
    if (page >= pagination.totalPages) break
  }
  return totals.BLOCKED.lines > 0 ? exitCode.partial : undefined
}

/** One page of the lines of a batch. */
export const readLines = async (
  client: ReferralClient,
  batchId: string,
  query: { state?: Schemas['PayoutLineState']; page?: number; limit?: number },
): Promise<Schemas['PaymentLineList']> =>
  unwrap(await client.GET('/admin/v1/payouts/{id}/lines', { params: { path: { id: batchId }, query } }))
