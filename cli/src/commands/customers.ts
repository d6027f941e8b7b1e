import type { Customer, CustomerCreate } from '@referral/sdk'
import type { Command } from 'commander'
import { defineCommand, defineGroup } from '../command.ts'
import { addPageOptions, type ListOptions, printList } from '../list.ts'
import type { Column } from '../output/render.ts'

const COLUMNS: Column<Customer>[] = ['id', 'customerId', 'affiliateId', 'boundAt', 'boundBy', 'firstOrderAt', 'orders']

interface Filters extends ListOptions {
  affiliate?: string
  program?: string
  customerId?: string
  email?: string
}

interface Named {
  customerId?: string
  email?: string
  code?: string
  ref?: string
  clickId?: string
  occurredAt?: string
}

export function addCustomers(program: Command): void {
  const customers = defineGroup(program, 'customers', 'bind customers to the affiliates who referred them')
  addPageOptions(
    defineCommand<Filters>(customers, 'list', {
      summary: 'list customers, newest first',
      output: 'Customer[]',
      action: async (run, { options }) => {
        const client = await run.client()
        const { affiliate: affiliateId, program: programId, customerId, email: customerEmail } = options
        await printList(run, options, {
          fetchPage: (paging) =>
            client.customers.list({ affiliateId, programId, customerId, customerEmail, ...paging }),
          columns: COLUMNS,
        })
      },
    }),
  )
    .option('--affiliate <id>', 'filter by affiliate')
    .option('--program <id>', 'filter by program')
    .option('--customer-id <id>', 'the customer with this id of yours')
    .option('--email <email>', 'the customer with this email address')

  defineCommand<Named>(customers, 'add', {
    summary: 'bind a customer to the affiliate that the evidence names',
    output: 'Customer',
    writes: true,
    examples: ['referral customers add --customer-id customer-7 --code NISA16'],
    action: async (run, { options }) => {
      const { customerId, email: customerEmail, code: couponCode, ref, clickId, occurredAt } = options
      const body = { customerId, customerEmail, couponCode, ref, clickId, occurredAt } as CustomerCreate
      if (run.dryRun) return run.printDryRun('POST', '/api/v1/customers', body)
      const { data, attribution, alreadyBound } = await (await run.client()).customers.create(body)
      run.printRecord(data)
      if (alreadyBound) run.reporter.info('The customer was already bound. Nothing was changed.')
      else if (data.affiliateId === null) run.reporter.warn(`The customer is not bound: ${attribution.reasonCode}.`)
    },
  })
    .option('--customer-id <id>', 'your id for the customer')
    .option('--email <email>', "the customer's email address")
    .option('--code <code>', 'a discount code or a link name')
    .option('--ref <ref>', "an affiliate's link name or id")
    .option('--click-id <id>', 'a click')
    .option('--occurred-at <time>', 'when the customer signed up')

  defineCommand(customers, 'remove <id>', {
    summary: 'unbind a customer; recorded commissions stay',
    output: 'ActionReply',
    writes: true,
    action: async (run, { args: [id = ''] }) => {
      if (run.dryRun) return run.printDryRun('DELETE', '/api/v1/customers', { id })
      run.printRecord(await (await run.client()).customers.unbind(id))
    },
  })
}
