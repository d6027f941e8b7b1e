import type { PayoutPreview, PayoutQuery } from '@referral/sdk'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { choiceOption, defineCommand, defineGroup, repeatableOption } from '../command.ts'
import { enums } from '../contract.ts'
import { formatMoney } from '../money.ts'
import type { Column } from '../output/render.ts'
import type { ExportOptions } from '../payouts/export.ts'
import type { CreateOptions } from '../payouts/gather.ts'
import type { PayOptions } from '../payouts/pay.ts'
import { addPageOptions, type ListOptions, printList } from '../read-list.ts'
import type { Run } from '../run.ts'

const COLUMNS: Column<PayoutPreview>[] = [
  'id',
  'status',
  { field: 'periodStart', title: 'from', format: ({ periodStart }) => periodStart.slice(0, 10) },
  { field: 'periodEnd', title: 'to', format: ({ periodEnd }) => periodEnd.slice(0, 10) },
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
  const payouts = defineGroup(program, 'payouts', 'commissions that are paid together')
  addPageOptions(
    defineCommand<ListOptions & { status?: string }>(payouts, 'list', {
      summary: 'list payout batches, newest first',
      output: 'PayoutBatch[]',
      action: async (run, { options }) => {
        const client = await run.client()
        const query = { status: options.status } as PayoutQuery
        await printList(run, options, {
          fetchPage: (paging) => client.payouts.list({ ...query, ...paging }),
          columns: COLUMNS,
        })
      },
    }),
  ).addOption(choiceOption('--status <status>', 'only these', enums.PayoutBatchStatus))
  addCreate(payouts)
  addPay(payouts)
  addExport(payouts)
  addCancel(payouts)
}

const UNPAID_NOTE =
  'Orders that were approved or reported after their month was paid are in no later month: both commands say on standard error how many approved commissions from before the period are in no batch, and which preview shows them. With --each-currency a list is printed, one batch per currency; a currency below the minimum payout is named, and the command ends with 8.'

const gather = async (run: Run, options: CreateOptions, write: boolean) =>
  (await import('../payouts/gather.ts')).createBatch(run, options, { write, columns: COLUMNS })

function addCreate(payouts: Command): void {
  periodOptions(
    defineCommand<CreateOptions>(payouts, 'preview', {
      summary: 'the batch that create would make; nothing is written',
      details: UNPAID_NOTE,
      output: 'PayoutBatch',
      examples: ['referral payouts preview --month last'],
      action: (run, { options }) => gather(run, options, false),
    }),
  )
  periodOptions(
    defineCommand<CreateOptions>(payouts, 'create', {
      summary: 'gather the approved commissions of a period into a batch',
      details: `--month is the whole month in UTC, to its last millisecond. A date alone in --to means the end of that day; the API itself would read it as its midnight and lose the day. ${UNPAID_NOTE}`,
      output: 'PayoutBatch',
      writes: true,
      examples: [
        'referral payouts create --month 2026-10',
        'referral payouts create --month last --currency EUR --json=id',
        'referral payouts create --month last --each-currency',
      ],
      action: (run, { options }) => gather(run, options, !run.dryRun),
    }),
  )
}

const wholeCents = (text: string): number => {
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw new InvalidArgumentError('It must be a whole number of cents, like 144000.')
  return Number(text)
}

function addPay(payouts: Command): void {
  defineCommand<PayOptions>(payouts, 'pay <id>', {
    summary: 'mark a batch and its commissions as paid; it cannot be undone',
    details:
      'Shows the period, the count and the total, and asks for the total. Without a terminal both --yes and --expect-total are needed. A batch that was paid before is fine: `changed` is false.',
    output: 'Payment',
    writes: true,
    examples: ['referral payouts pay bat_…', 'referral payouts pay bat_… --yes --expect-total 144000'],
    action: async (run, { options, args: [id = ''] }) => (await import('../payouts/pay.ts')).pay(run, id, options),
  })
    .addOption(new Option('--expect-total <cents>', 'refuse any other net total than this').argParser(wholeCents))
    .option('-y, --yes', 'do not ask; needs --expect-total')
}

function addExport(payouts: Command): void {
  defineCommand<ExportOptions>(payouts, 'export <id...>', {
    summary: 'write the payees of batches to files, one per currency',
    details:
      'csv has every affiliate of the batch. paypal and wise are what these services take in for mass payments; payees who cannot stand in such a file are left out and named, and the command ends with 8. `SHA256SUMS` beside the files holds their checksums: `sha256sum -c SHA256SUMS`.',
    output: 'ExportedFile[]',
    writes: true,
    examples: [
      'referral payouts export bat_… --format paypal',
      'referral payouts export bat_… bat_… --format csv --dir out',
    ],
    action: async (run, { options, args }) => (await import('../payouts/export.ts')).exportBatches(run, args, options),
  })
    .addOption(choiceOption('--format <format>', 'for whom', ['csv', 'paypal', 'wise']).default('csv'))
    .option('--dir <folder>', 'where to', '.')
    .option('--force', 'replace files that are there')
}

function addCancel(payouts: Command): void {
  defineCommand<{ yes?: boolean }>(payouts, 'cancel <id>', {
    summary: 'let the commissions of an open or failed batch go',
    output: 'PayoutBatch',
    owner: true,
    writes: true,
    action: async (run, { options, args: [id = ''] }) =>
      (await import('../payouts/cancel.ts')).cancel(run, id, options),
  }).option('-y, --yes', 'do not ask')
}

const periodOptions = (command: Command): Command =>
  command
    .option('--month <month>', '2026-10, last or this')
    .option('--from <time>', 'from this day or instant')
    .option('--to <time>', 'to this day or instant, inclusive')
    .addOption(new Option('--currency <code>', 'only this currency').conflicts('eachCurrency'))
    .option('--each-currency', 'one batch for each currency that has commissions')
    .addOption(repeatableOption('--affiliate <id>', 'only of this affiliate; repeat for several'))
    .option('--program <id>', 'only of this program')
