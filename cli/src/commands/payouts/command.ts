import type { components, PayoutPreview, PayoutQuery } from '@referral/sdk'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { defineCommand, defineGroup } from '../../command.ts'
import { enums } from '../../contract.ts'
import { dayIn } from '../../days.ts'
import { unwrap } from '../../errors.ts'
import { addPageOptions, defineGet, type ListOptions, printList } from '../../list.ts'
import { formatMoney } from '../../money.ts'
import { addPeriodOptions, choiceOption, repeatableOption, singleMonthOption } from '../../options.ts'
import type { Column } from '../../output/render.ts'
import { confirm } from '../../prompt.ts'
import type { Run } from '../../run.ts'
import type { LedgerOptions } from '../statements/get.ts'
import type { CreateOptions } from './create.ts'
import type { ExportOptions } from './export-files.ts'
import type { PayOptions } from './pay.ts'
import type { UnpaidOptions } from './unpaid.ts'

type PaymentLine = components['schemas']['PaymentLine']
type LineState = components['schemas']['PayoutLineState']

/** Batch columns with days in the shop's time zone. Formats other than tables print instants. */
const columnsFor = ({ timeZone }: { timeZone: string }): Column<PayoutPreview>[] => [
  'id',
  {
    field: 'status',
    format: ({ status, progress }) =>
      progress ? `${status} ${progress.movedCommissions} of ${progress.commissions}` : status,
  },
  { field: 'periodStart', title: 'from', format: ({ periodStart }) => dayIn(periodStart, timeZone) },
  { field: 'periodEnd', title: 'to', format: ({ periodEnd }) => dayIn(periodEnd, timeZone) },
  { field: 'totals.commissions', title: 'commissions' },
  { field: 'totals.affiliates', title: 'affiliates' },
  {
    field: 'totals.netPayableCents',
    title: 'net',
    format: ({ totals, currency }) => formatMoney(totals.netPayableCents, currency),
  },
  'currency',
]

export function addPayouts(program: Command): void {
  const payouts = defineGroup(program, 'payouts', 'create, export, and pay payout batches')
  addPageOptions(
    defineCommand<ListOptions & { status?: string }>(payouts, 'list', {
      summary: 'list payout batches, newest first',
      output: 'PayoutBatch[]',
      action: async (run, { options }) => {
        const client = await run.client()
        const query = { status: options.status } as PayoutQuery
        await printList(run, options, {
          fetchPage: (paging) => client.payouts.list({ ...query, ...paging }),
          columns: columnsFor(await run.tableUnits()),
        })
      },
    }),
  ).addOption(choiceOption('--status <status>', 'filter by status', enums.PayoutBatchStatus))
  defineGet(payouts, 'PayoutBatch', 'bat', (client, id) => client.payouts.list({ id }))
  addCreate(payouts)
  addUnpaid(payouts)
  addPay(payouts)
  addExport(payouts)
  addLines(payouts)
  addReconcile(payouts)
  addCancel(payouts)
  addLedger(payouts)
}

const UNPAID_NOTE =
  'With --include-earlier, commissions from before the period that were approved late or below the minimum payout per affiliate are included. `preview` and `create` report on standard error what the batch does not pay, and why; `payouts unpaid` lists the affiliates. With --each-currency, prints a list with one batch per currency; currencies below the minimum payout are reported, and the command exits with 8.'

const createOrPreview = async (run: Run, options: CreateOptions, write: boolean) =>
  (await import('./create.ts')).createBatch(run, options, { write, columns: columnsFor(await run.tableUnits()) })

function addCreate(payouts: Command): void {
  addSelectionOptions(
    defineCommand<CreateOptions>(payouts, 'preview', {
      summary: 'preview the batch that `create` would create',
      details: UNPAID_NOTE,
      output: 'PayoutBatch',
      examples: ['referral payouts preview --month last'],
      isLong: true,
      action: (run, { options }) => createOrPreview(run, options, false),
    }),
  )
  addSelectionOptions(
    defineCommand<CreateOptions>(payouts, 'create', {
      summary: 'create a batch of the approved commissions of a period',
      details: `--month is the whole month in the time zone of the shop, to its last millisecond. A date in --to means the end of that day, unlike in the API, where it means midnight. ${UNPAID_NOTE}`,
      output: 'PayoutBatch',
      writes: true,
      examples: [
        'referral payouts create --month 2026-10',
        'referral payouts create --month last --currency EUR --json=id',
        'referral payouts create --month last --each-currency',
      ],
      isLong: true,
      action: (run, { options }) => createOrPreview(run, options, !run.dryRun),
    }),
  )
}

function addUnpaid(payouts: Command): void {
  addPeriodOptions(
    defineCommand<UnpaidOptions>(payouts, 'unpaid', {
      summary: 'list approved balances that a batch for the period leaves unpaid, and why',
      details:
        'LATE: approved after its month was paid, and not included. ON_HOLD: the terms of the program pay it later. BELOW_MINIMUM: less than the minimum payout per affiliate. DEBT: refunds of paid commissions exceed the earnings. HELD_BACK: the affiliate is archived or rejected.',
      output: 'UnpaidBalance[]',
      examples: ['referral payouts unpaid --month last', 'referral payouts unpaid --month last --json'],
      isLong: true,
      action: async (run, { options }) => (await import('./unpaid.ts')).listUnpaid(run, options),
    }),
  )
    .option('--currency <code>', 'filter by currency')
    .option('--affiliate <id>', 'filter by affiliate')
    .option('--program <id>', 'filter by program')
    .option('--include-earlier', 'assume a batch that includes earlier commissions')
}

const wholeCents = (text: string): number => {
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw new InvalidArgumentError('It must be an integer number of cents, such as 144000.')
  return Number(text)
}

function addPay(payouts: Command): void {
  defineCommand<PayOptions>(payouts, 'pay <id>', {
    summary: 'mark a batch and its commissions as paid, permanently',
    details:
      'Shows the period, the count and the total, and prompts for the total, which excludes returned payments: the next batch pays them. Without a terminal, both --yes and --expect-total are required. Succeeds for a batch that is already paid, with `changed` set to false.',
    output: 'Payment',
    writes: true,
    examples: ['referral payouts pay bat_…', 'referral payouts pay bat_… --yes --expect-total 144000'],
    isLong: true,
    action: async (run, { options, args: [id = ''] }) => (await import('./pay.ts')).pay(run, id, options),
  })
    .addOption(
      new Option('--expect-total <cents>', 'fail when the net total, without returned payments, differs').argParser(
        wholeCents,
      ),
    )
    .option('-y, --yes', 'skip the confirmation; requires --expect-total')
}

function addExport(payouts: Command): void {
  defineCommand<ExportOptions>(payouts, 'export <id...>', {
    summary: 'export the payees of batches to files, one per currency',
    details:
      'Without --file-id, csv has one row per affiliate with the totals of the batch (batchId, commissions, netPayable, …). paypal and wise are the import formats of these services for mass payments; they use the email address of the affiliate. Payees the format cannot represent are left out and reported, and the command exits with 8. `SHA256SUMS` contains the checksums of the files; check them with `sha256sum -c SHA256SUMS`.\n\nWith --file-id, the payments that the format supports are marked as sent under this id, with the payee details of the affiliates; this requires an owner token. csv then has one row per sent payment (paymentReference, iban, …). The same id again writes the same file. Payments that cannot be sent are reported and remain unsent, and the command exits with 8. The payment text names the month of the batch, or the first and the last one. sepa is ISO 20022 pain.001.001.09, for euros. `referral payouts reconcile` records the results of the payments.',
    output: 'ExportedFile[]',
    writes: true,
    examples: [
      'referral payouts export bat_… --format paypal',
      'referral payouts export bat_… bat_… --format csv --dir out',
      "referral payouts export bat_… --format sepa --file-id 2026-10 --from-name 'Hats Ltd' --from-iban DE89370400440532013000",
    ],
    isLong: true,
    action: async (run, { options, args }) => (await import('./export.ts')).exportBatches(run, args, options),
  })
    .addOption(choiceOption('--format <format>', 'file format', enums.PayoutFileFormat).default('csv'))
    .option('--file-id <id>', 'mark the payments as sent under this id')
    .option('--from-name <name>', 'name of the account to pay from; for sepa')
    .option('--from-iban <iban>', 'IBAN of the account to pay from; for sepa')
    .option('--from-bic <bic>', 'BIC of the account to pay from; for sepa')
    .option('--execution-date <date>', 'when the bank executes the payments; for sepa (default: today)')
    .option('--dir <folder>', 'output folder', '.')
    .option('--force', 'overwrite existing files')
    .addOption(
      new Option(
        '--expect-total <cents>',
        'fail when the net total of the batch, without returned payments, differs',
      ).argParser(wholeCents),
    )
}

const LINE_COLUMNS: Column<PaymentLine>[] = [
  'affiliateId',
  'name',
  'state',
  {
    field: 'amountCents',
    title: 'amount',
    format: ({ amountCents, currency }) => formatMoney(amountCents, currency),
  },
  'reason',
  'paymentReference',
  'reference',
  'date',
]

function addLines(payouts: Command): void {
  defineCommand<{ state?: LineState; all?: boolean }>(payouts, 'lines <id>', {
    summary: 'list the payments of a batch and their states',
    output: 'PaymentLine[]',
    owner: true,
    examples: ['referral payouts lines bat_… --state BLOCKED'],
    action: async (run, { options, args: [id = ''] }) => {
      const client = await run.ownerClient()
      const { readLines } = await import('./payment-file.ts')
      const lines: PaymentLine[] = []
      for (let page = 1; ; page++) {
        const query = { page, limit: 100, ...(options.state && { state: options.state }) }
        const { data, pagination } = await readLines(client, id, query)
        lines.push(...data)
        if (!options.all && lines.length < pagination.total)
          run.reporter.info(`showing ${lines.length} of ${pagination.total}, use --all`)
        if (!options.all || page >= pagination.totalPages) break
      }
      run.printRows(lines, LINE_COLUMNS)
    },
  })
    .addOption(choiceOption('--state <state>', 'filter by state', enums.PayoutLineState))
    .option('--all', 'all payments instead of the first 100')
}

function addReconcile(payouts: Command): void {
  defineCommand(payouts, 'reconcile <file>', {
    summary: 'record what a bank or payment service reports about payments',
    details:
      'Reads payment status reports (pain.002), account statements (camt.053) and notifications (camt.054) of banks; the payouts of PayPal as CSV or as JSON of its API; the transfers of Wise as CSV; and CSV with the columns paymentReference, outcome, amount, currency, date, reason and reference. In the latter, the outcome is SETTLED, PAID, COMPLETED, SUCCESS or SUCCEEDED; RETURNED, FAILED, REJECTED, REFUNDED, REVERSED, CANCELED or CANCELLED; or PENDING, PROCESSING or SENT, which change nothing. Repeating a file changes nothing. Returned amounts become payable again in the next batch. Payments with an unknown reference or outcome, that were reported with another amount, or that were settled twice are reported and not changed, and the command exits with 8.',
    output: 'ReconciledResult[]',
    owner: true,
    writes: true,
    examples: ['referral payouts reconcile statement.xml', 'referral payouts reconcile paypal-report.csv --dry-run'],
    isLong: true,
    action: async (run, { args: [file = ''] }) => (await import('./reconcile.ts')).reconcile(run, file),
  })
}

function addCancel(payouts: Command): void {
  defineCommand<{ yes?: boolean }>(payouts, 'discard-file <file>', {
    summary: 'discard a payment file that was never uploaded, so that its payments can be sent again',
    details:
      'Its lines are READY again, and are exported under another file id. Fails when a payment of the file was reconciled, or when an order of it was refunded or canceled: report its other payments as returned then. Discarding a file again changes nothing.',
    output: 'PayoutFile',
    owner: true,
    writes: true,
    examples: ['referral payouts discard-file 2026-10-paypal'],
    isLong: true,
    action: async (run, { options, args: [id = ''] }) => discardFile(run, id, options),
  }).option('-y, --yes', 'skip the confirmation')
  defineCommand<{ yes?: boolean }>(payouts, 'cancel <id>', {
    summary: 'cancel an open or failed batch and release its commissions',
    output: 'PayoutBatch',
    owner: true,
    writes: true,
    isLong: true,
    action: async (run, { options, args: [id = ''] }) => cancel(run, id, options),
  }).option('-y, --yes', 'skip the confirmation')
}

function addLedger(payouts: Command): void {
  defineCommand<LedgerOptions>(payouts, 'ledger', {
    summary: 'print everything earned, deducted and paid in a month, for all affiliates, as CSV with their names',
    output: 'Text',
    owner: true,
    examples: ['referral payouts ledger --month last > ledger.csv'],
    isLong: true,
    action: async (run, { options }) => (await import('../statements/get.ts')).printLedger(run, options),
  }).addOption(singleMonthOption())
}

const addSelectionOptions = (command: Command): Command =>
  addPeriodOptions(command)
    .addOption(new Option('--currency <code>', 'filter by currency').conflicts('eachCurrency'))
    .option('--each-currency', 'create one batch per currency')
    .addOption(repeatableOption('--affiliate <id>', 'filter by affiliate; repeat for several'))
    .option('--program <id>', 'filter by program')
    .option('--include-earlier', 'include approved commissions from before the period')

async function discardFile(run: Run, id: string, { yes }: { yes?: boolean }): Promise<undefined> {
  if (run.dryRun) return run.printDryRun('POST', `/admin/v1/payout-files/${encodeURIComponent(id)}/discard`)
  const question = `Discard the payment file ${id}? If it was uploaded, its payments are sent twice.`
  await confirm(run.context, question, yes)
  const client = await run.ownerClient()
  const params = { path: { id } }
  run.printRecord(unwrap(await client.POST('/admin/v1/payout-files/{id}/discard', { params })).data)
}

async function cancel(run: Run, id: string, { yes }: { yes?: boolean }): Promise<undefined> {
  if (run.dryRun) return run.printDryRun('POST', `/admin/v1/payouts/${encodeURIComponent(id)}/cancel`)
  await confirm(run.context, `Cancel ${id}? Its commissions become available for another batch.`, yes)
  const { data } = unwrap(
    await (await run.ownerClient()).POST('/admin/v1/payouts/{id}/cancel', { params: { path: { id } } }),
  )
  run.printRecord(data)
}
