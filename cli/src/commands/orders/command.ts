import type { Order, OrderQuery } from '@referral/sdk'
import type { Command } from 'commander'
import { defineCommand, defineGroup } from '../../command.ts'
import { timeIn } from '../../days.ts'
import { addPageOptions, type ListOptions, printList } from '../../list.ts'
import { formatMoney } from '../../money.ts'
import { addPeriodOptions, choiceOption } from '../../options.ts'
import type { Column } from '../../output/render.ts'
import { type PeriodOptions, readPeriod } from '../../period.ts'

const columnsFor = ({ timeZone }: { timeZone: string }): Column<Order>[] => [
  'orderId',
  { field: 'orderName', title: 'name' },
  {
    field: 'orderSubtotalCents',
    title: 'subtotal',
    format: ({ orderSubtotalCents, orderCurrency }) => formatMoney(orderSubtotalCents, orderCurrency),
  },
  { field: 'orderCurrency', title: 'currency' },
  { field: 'attribution.affiliateId', title: 'affiliate' },
  { field: 'attribution.reasonCode', title: 'reason' },
  { field: 'restrictionReasonCode', title: 'restriction' },
  'commissionId',
  { field: 'canceledAt', format: ({ canceledAt }) => (canceledAt ? timeIn(canceledAt, timeZone) : '–') },
  { field: 'happenedAt', format: ({ happenedAt }) => timeIn(happenedAt, timeZone) },
]

interface OrderOptions extends ListOptions, PeriodOptions {
  affiliate?: string
  order?: string
  credited?: 'true' | 'false'
}

export function addOrders(program: Command): void {
  const orders = defineGroup(program, 'orders', 'list reported orders, credited or not, and explain them')
  const list = addPageOptions(
    defineCommand<OrderOptions>(orders, 'list', {
      summary: 'list reported orders, latest first',
      output: 'Order[]',
      examples: ['referral orders list --month last --credited false', 'referral orders list --order 1001 --json'],
      action: async (run, { options }) => {
        const client = await run.client()
        const query: OrderQuery = {
          externalOrderId: options.order,
          affiliateId: options.affiliate,
          credited: options.credited && options.credited === 'true',
          ...(await readPeriod(options, run)),
        }
        await printList(run, options, {
          fetchPage: (paging) => client.orders.list({ ...query, ...paging }),
          columns: columnsFor(await run.tableUnits()),
        })
      },
    }),
  )
    .addOption(
      choiceOption('--credited <true-or-false>', 'filter by whether an affiliate was credited', ['true', 'false']),
    )
    .option('--affiliate <id>', 'filter by affiliate')
    .option('--order <id>', 'filter by order')
  addPeriodOptions(list)
  defineCommand(orders, 'get <order>', {
    summary: 'show one order by your id, its stored id, or its name in the store',
    output: 'Order',
    examples: ['referral orders get 1001', "referral orders get '#1001'"],
    action: async (run, { args: [order = ''] }) => {
      run.printRecord(await (await run.client()).orders.get(order))
    },
  })
  defineCommand(orders, 'explain <order>', {
    summary: 'explain why an order earned a commission, or none',
    details:
      'Exits with 3 when the order was never reported, and with 5 when several orders have this id: use the stored id of one of them, such as shopify:1001.',
    output: 'OrderExplanation',
    examples: ['referral orders explain 1001', "referral orders explain '#1001'"],
    action: async (run, { args: [order = ''] }) => (await import('./explain.ts')).explain(run, order),
  })
}
