import type { Commission, CommissionQuery } from '@referral/sdk'
import type { Command } from 'commander'
import { choice, group, leaf } from '../command.ts'
import { values } from '../contract.ts'
import { showMoney } from '../money.ts'
import type { Column } from '../output/render.ts'
import { type PeriodOptions, readPeriod } from '../period.ts'
import { type ListOptions, pageOptions, printList } from '../read-list.ts'
import { addModeration } from './moderation.ts'

export const COLUMNS: Column<Commission>[] = [
  'id',
  { field: 'externalOrderId', title: 'order' },
  'affiliateId',
  { field: 'orderStatus', title: 'status' },
  {
    field: 'commissionAmountCents',
    title: 'amount',
    show: ({ commissionAmountCents, currency }) => showMoney(commissionAmountCents, currency),
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
  const commissions = group(program, 'commissions', 'what each order earned')
  pageOptions(
    leaf<CommissionOptions>(commissions, 'list', {
      summary: 'list commissions, the latest orders first',
      output: 'Commission[]',
      examples: [
        'referral commissions list --month last --status PENDING',
        'referral commissions list --order 1001 --json',
      ],
      work: async (run, { options }) => {
        const client = await run.client()
        const query = {
          status: options.status,
          affiliateId: options.affiliate,
          programId: options.program,
          payoutBatchId: options.batch,
          externalOrderId: options.order,
          ...readPeriod(options, run.world.now()),
        } as CommissionQuery
        await printList(run, options, {
          ask: (paging) => client.commissions.list({ ...query, ...paging }),
          columns: COLUMNS,
        })
      },
    }),
  )
    .addOption(choice('--status <status>', 'only these', values.CommissionStatus))
    .option('--affiliate <id>', 'only of this affiliate')
    .option('--program <id>', 'only of this program')
    .option('--batch <id>', 'only of this payout batch')
    .option('--order <id>', 'only of this order')
    .option('--month <month>', '2026-10, last or this')
    .option('--from <time>', 'from this day or instant')
    .option('--to <time>', 'to this day or instant, inclusive')
  addModeration(commissions)
}
