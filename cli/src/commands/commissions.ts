import type { Commission, CommissionQuery } from '@referral/sdk'
import type { Command } from 'commander'
import { choiceOption, defineCommand, defineGroup } from '../command.ts'
import { enums } from '../contract.ts'
import { formatMoney } from '../money.ts'
import type { Column } from '../output/render.ts'
import { type PeriodOptions, parsePeriod } from '../period.ts'
import { addPageOptions, type ListOptions, printList } from '../read-list.ts'
import { addModeration } from './moderation.ts'

export const COLUMNS: Column<Commission>[] = [
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
  { field: 'attributionReasonCode', title: 'why' },
  'happenedAt',
]

interface CommissionOptions extends ListOptions, PeriodOptions {
  status?: string
  affiliate?: string
  program?: string
  batch?: string
  order?: string
}

export function addCommissions(program: Command): void {
  const commissions = defineGroup(program, 'commissions', 'what each order earned')
  addPageOptions(
    defineCommand<CommissionOptions>(commissions, 'list', {
      summary: 'list commissions, the latest orders first',
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
          ...parsePeriod(options, run.context.now()),
        } as CommissionQuery
        await printList(run, options, {
          fetchPage: (paging) => client.commissions.list({ ...query, ...paging }),
          columns: COLUMNS,
        })
      },
    }),
  )
    .addOption(choiceOption('--status <status>', 'only these', enums.CommissionStatus))
    .option('--affiliate <id>', 'only of this affiliate')
    .option('--program <id>', 'only of this program')
    .option('--batch <id>', 'only of this payout batch')
    .option('--order <id>', 'only of this order')
    .option('--month <month>', '2026-10, last or this')
    .option('--from <time>', 'from this day or instant')
    .option('--to <time>', 'to this day or instant, inclusive')
  addModeration(commissions)
}
