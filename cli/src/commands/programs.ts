import type { Program, ProgramCreate, ProgramQuery, ProgramStatus, ProgramUpdate } from '@referral/sdk'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { defineCommand, defineGroup } from '../command.ts'
import { enums } from '../contract.ts'
import { usageError } from '../errors.ts'
import { addPageOptions, defineGet, type ListOptions, printList } from '../list.ts'
import { formatMoney } from '../money.ts'
import { choiceOption } from '../options.ts'
import type { Column } from '../output/render.ts'

const columnsFor = ({ currency }: { currency: string }): Column<Program>[] => [
  'id',
  'name',
  'status',
  'commissionType',
  { field: 'defaultCommissionBps', title: 'rate', format: (program) => showRate(program, currency) },
  { field: 'cookieDurationDays', title: 'cookieDays' },
  { field: 'affiliateCount', title: 'affiliates' },
  { field: 'isDefault', title: 'default', format: ({ isDefault }) => (isDefault ? 'yes' : 'no') },
]

const showRate = ({ commissionType, defaultCommissionBps }: Program, currency: string): string =>
  commissionType === 'PERCENT_OF_SALE' ? `${defaultCommissionBps / 100}%` : formatMoney(defaultCommissionBps, currency)

interface ProgramOptions {
  name?: string
  description?: string
  type?: string
  commission?: number
  cookieDays?: number
  autoApproveAffiliates?: boolean
  autoApproveOrders?: boolean
  status?: ProgramStatus
  lifetime?: boolean
  discount?: 'PERCENT' | 'FIXED' | 'none'
  discountValue?: number
}

export function addPrograms(program: Command): void {
  const programs = defineGroup(program, 'programs', 'manage what affiliates earn')
  addPageOptions(
    defineCommand<ListOptions & { status?: ProgramStatus }>(programs, 'list', {
      summary: 'list programs, newest first',
      output: 'Program[]',
      action: async (run, { options }) => {
        const client = await run.client()
        const query = { status: options.status } as ProgramQuery
        await printList(run, options, {
          fetchPage: (paging) => client.programs.list({ ...query, ...paging }),
          columns: columnsFor(await run.tableUnits()),
        })
      },
    }),
  ).addOption(choiceOption('--status <status>', 'filter by status', enums.ProgramStatus))
  defineGet(programs, 'Program', 'prg', (client, id) => client.programs.list({ id }))
  addCreateAndUpdate(programs)
}

function addCreateAndUpdate(programs: Command): void {
  const create = defineCommand<ProgramOptions>(programs, 'create', {
    summary: 'create a program; the first one becomes the default',
    output: 'Program',
    writes: true,
    examples: ['referral programs create --name Friends --commission 16 --auto-approve-orders --status PUBLISH'],
    action: async (run, { options }) => {
      requireFlatRate(options)
      const body = toBody(options)
      if (run.dryRun) return run.printDryRun('POST', '/api/v1/programs', body)
      run.printRecord(await (await run.client()).programs.create(body as ProgramCreate))
    },
  })
  addFields(create).makeOptionMandatory()

  const update = defineCommand<ProgramOptions>(programs, 'update <id>', {
    summary: 'update a program; recorded commissions keep their rate',
    output: 'Program',
    writes: true,
    examples: [
      'referral programs update prg_… --commission 12.5',
      'referral programs update prg_… --discount PERCENT --discount-value 10',
    ],
    action: async (run, { options, args: [id = ''] }) => {
      requireFlatRate(options)
      const body = toBody(options)
      if (Object.keys(body).length === 0)
        throw usageError('No change was given. Pass at least one option, such as --commission.')
      if (run.dryRun) return run.printDryRun('PATCH', `/api/v1/programs?id=${encodeURIComponent(id)}`, body)
      run.printRecord(await (await run.client()).programs.update(id, body))
    },
  })
  addFields(update)
  update
    .option('--lifetime', 'attribute all later orders of a customer to the affiliate of the first one')
    .option('--no-lifetime', 'attribute each order separately')
    .addOption(choiceOption('--discount <type>', 'discount type of its codes', [...enums.DiscountType, 'none']))
    .addOption(new Option('--discount-value <number>', 'percent, or currency units').argParser(decimal))
}

function addFields(command: Command): Option {
  const name = new Option('--name <name>', 'name')
  command
    .addOption(name)
    .option('--description <text>', 'description')
    .addOption(
      choiceOption(
        '--type <type>',
        'how the commission is calculated; flat types require --commission',
        enums.CommissionType,
      ),
    )
    .addOption(new Option('--commission <number>', 'percent, or currency units for flat types').argParser(decimal))
    .addOption(
      new Option('--cookie-days <n>', 'days a click stays valid; 0 disables click attribution').argParser(decimal),
    )
    .option('--auto-approve-affiliates', 'approve new affiliates automatically')
    .option('--no-auto-approve-affiliates', 'approve new affiliates manually')
    .option('--auto-approve-orders', 'approve commissions automatically')
    .option('--no-auto-approve-orders', 'approve commissions manually')
    .addOption(choiceOption('--status <status>', 'visibility', enums.ProgramStatus))
  return name
}

const decimal = (text: string): number => {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('It must be a number such as 16 or 12.5.')
  return Number(text)
}

const FLAT_RATE_EXAMPLES: Record<string, string> = {
  FLAT_PER_ORDER: '16.00 for each order',
  FLAT_PER_ITEM: '16.00 for each item',
}

/** Without this, the API would interpret a percentage as an amount of money. */
function requireFlatRate({ type = '', commission }: ProgramOptions): void {
  const meaning = FLAT_RATE_EXAMPLES[type]
  if (meaning && commission === undefined)
    throw usageError(
      `--type ${type} requires --commission. The number is in currency units: 16 means ${meaning}, not 16%.`,
    )
}

/** Returns only the given fields; the others keep their values. */
function toBody(options: ProgramOptions): ProgramUpdate {
  const { discount } = options
  const body: ProgramUpdate = {
    name: options.name,
    description: options.description,
    commissionType: options.type as ProgramUpdate['commissionType'],
    commissionPercent: options.commission,
    cookieDurationDays: options.cookieDays,
    autoApproveAffiliate: options.autoApproveAffiliates,
    autoApproveOrder: options.autoApproveOrders,
    status: options.status as ProgramUpdate['status'],
    lifetimeCommission: options.lifetime,
    discountEnabled: discount && discount !== 'none',
    discountType: discount === 'none' ? null : discount,
    discountValue: discount === 'none' ? null : options.discountValue,
  } as ProgramUpdate
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
}
