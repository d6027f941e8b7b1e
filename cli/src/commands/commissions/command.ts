import type { Commission, CommissionQuery } from '@referral/sdk'
import { type Command, Option } from 'commander'
import { defineCommand, defineGroup } from '../../command.ts'
import { enums } from '../../contract.ts'
import { timeIn } from '../../days.ts'
import { addPageOptions, defineGet, type ListOptions, printList } from '../../list.ts'
import { formatMoney } from '../../money.ts'
import { addPeriodOptions, choiceOption, parseCents, repeatableOption } from '../../options.ts'
import type { Column } from '../../output/render.ts'
import { type PeriodOptions, readPeriod } from '../../period.ts'
import type { ModerateOptions } from './moderate.ts'
import type { RefundOptions } from './refund.ts'

const columnsFor = ({ timeZone }: { timeZone: string }): Column<Commission>[] => [
  'id',
  { field: 'externalOrderId', title: 'order' },
  'affiliateId',
  { field: 'orderStatus', title: 'status' },
  {
    field: 'commissionAmountCents',
    title: 'amount',
    format: ({ commissionAmountCents, currency }) => formatMoney(commissionAmountCents, currency),
  },
  'currency',
  { field: 'attributionReasonCode', title: 'reason' },
  { field: 'happenedAt', format: ({ happenedAt }) => timeIn(happenedAt, timeZone) },
]

interface CommissionOptions extends ListOptions, PeriodOptions {
  status?: string
  affiliate?: string
  program?: string
  batch?: string
  order?: string
}

export function addCommissions(program: Command): void {
  const commissions = defineGroup(program, 'commissions', 'manage what orders earned')
  const list = addPageOptions(
    defineCommand<CommissionOptions>(commissions, 'list', {
      summary: 'list commissions, newest orders first',
      output: 'Commission[]',
      examples: [
        'referral commissions list --month last --status PENDING',
        'referral commissions list --order 1001 --json',
      ],
      action: async (run, { options }) => {
        const client = await run.client()
        const query = {
          status: options.status,
          affiliateId: options.affiliate,
          programId: options.program,
          payoutBatchId: options.batch,
          externalOrderId: options.order,
          ...(await readPeriod(options, run)),
        } as CommissionQuery
        await printList(run, options, {
          fetchPage: (paging) => client.commissions.list({ ...query, ...paging }),
          columns: columnsFor(await run.tableUnits()),
        })
      },
    }),
  )
    .addOption(choiceOption('--status <status>', 'filter by status', enums.CommissionStatus))
    .option('--affiliate <id>', 'filter by affiliate')
    .option('--program <id>', 'filter by program')
    .option('--batch <id>', 'filter by payout batch')
    .option('--order <id>', 'filter by order')
  addPeriodOptions(list)
  defineGet(commissions, 'Commission', 'com', (client, id) => client.commissions.list({ id }))
  defineCommand(commissions, 'explain <order>', {
    summary: 'the same as orders explain',
    output: 'OrderExplanation',
    examples: ['referral commissions explain 1001'],
    action: async (run, { args: [order = ''] }) => (await import('../orders/explain.ts')).explain(run, order),
  })
  addModeration(commissions)
}

const ACTIONS = {
  approve: 'approve commissions, so that the next payout includes them',
  reject: 'reject commissions; `reopen` reverts this',
  cancel: 'cancel commissions and remove them from open batches',
  reverse: 'take paid commissions back with the next payout',
  reopen: 're-evaluate rejected commissions with the current rules',
} as const

// No action applies to other statuses.
const STATUSES: (typeof enums.CommissionStatus)[number][] = [
  'PENDING',
  'APPROVED',
  'ACCEPTED',
  'PAYABLE',
  'PAID',
  'REJECTED',
]

/** The commands that require an owner token. */
function addModeration(commissions: Command): void {
  for (const [action, summary] of Object.entries(ACTIONS) as [keyof typeof ACTIONS, string][])
    defineCommand<ModerateOptions>(commissions, `${action} [id...]`, {
      summary,
      details:
        'Takes commission ids, or --matching with filters. --matching shows the number of commissions and asks for confirmation; without a terminal it requires --yes.',
      output: 'Moderation',
      owner: true,
      writes: true,
      examples: [
        `referral commissions ${action} com_…`,
        `referral commissions ${action} --matching --month last --dry-run`,
      ],
      action: async (run, { options, args: ids }) =>
        (await import('./moderate.ts')).moderate(run, { action, ids }, options),
    })
      .option('--matching', 'apply to all eligible commissions that match the filters')
      .addOption(choiceOption('--status <status>', 'filter by status', STATUSES))
      .option('--affiliate <id>', 'filter by affiliate')
      .option('--program <id>', 'filter by program')
      .option('--month <month>', '2026-10, last or this')
      .option('--from <time>', 'from this day or instant')
      .option('--to <time>', 'to this day or instant, inclusive')
      .option('-y, --yes', 'skip the confirmation')
  addRefund(commissions)
}

function addRefund(commissions: Command): void {
  defineCommand<RefundOptions>(commissions, 'refund <id>', {
    summary: 'refund a commission in full or in part; each refund id counts once',
    details:
      'Without --amount-cents and --item, refunds the remaining amount. A paid commission stays paid and is deducted from the next payout. Exits with 5 when the refund id was used with another amount or other items.',
    output: 'RefundReply',
    owner: true,
    writes: true,
    examples: [
      'referral commissions refund com_… --refund-id r-1 --amount-cents 3000',
      'referral commissions refund com_… --refund-id r-2 --item variant:9001*1 --yes',
    ],
    action: async (run, { options, args: [id = ''] }) => (await import('./refund.ts')).refund(run, id, options),
  })
    .requiredOption('--refund-id <id>', 'your refund id')
    .addOption(
      new Option('--amount-cents <n>', 'goods less discount, excluding shipping and tax').argParser(parseCents),
    )
    .addOption(
      repeatableOption('--item <variant:id*n>', 'a returned line item, or product:<id>*<n>; repeat for several'),
    )
    .option('--reason <text>', 'reason of the refund')
    .option('-y, --yes', 'skip the confirmation')
}
