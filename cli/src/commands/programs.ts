import type { Program, ProgramCreate, ProgramQuery, ProgramStatus, ProgramUpdate } from '@referral/sdk'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { choiceOption, defineCommand, defineGroup } from '../command.ts'
import { enums } from '../contract.ts'
import { usageError } from '../exit.ts'
import type { Column } from '../output/render.ts'
import { addPageOptions, type ListOptions, printList } from '../read-list.ts'

const COLUMNS: Column<Program>[] = [
  'id',
  'name',
  'status',
  'commissionType',
  { field: 'defaultCommissionBps', title: 'rate', format: showRate },
  { field: 'cookieDurationDays', title: 'cookieDays' },
  { field: 'affiliateCount', title: 'affiliates' },
  { field: 'isDefault', title: 'default', format: ({ isDefault }) => (isDefault ? 'yes' : 'no') },
]

function showRate({ commissionType, defaultCommissionBps }: Program): string {
  return commissionType === 'PERCENT_OF_SALE' ? `${defaultCommissionBps / 100} %` : `${defaultCommissionBps} cents`
}

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
  const programs = defineGroup(program, 'programs', 'what affiliates earn')
  addPageOptions(
    defineCommand<ListOptions & { status?: ProgramStatus }>(programs, 'list', {
      summary: 'list programs, newest first',
      output: 'Program[]',
      action: async (run, { options }) => {
        const client = await run.client()
        const query = { status: options.status } as ProgramQuery
        await printList(run, options, {
          fetchPage: (paging) => client.programs.list({ ...query, ...paging }),
          columns: COLUMNS,
        })
      },
    }),
  ).addOption(choiceOption('--status <status>', 'only these', enums.ProgramStatus))
  addCreateAndUpdate(programs)
}

function addCreateAndUpdate(programs: Command): void {
  const create = defineCommand<ProgramOptions>(programs, 'create', {
    summary: 'create a program; the first of a shop becomes its default',
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
    summary: 'change a program; recorded commissions keep their rate',
    output: 'Program',
    writes: true,
    examples: [
      'referral programs update prg_… --commission 12.5',
      'referral programs update prg_… --discount PERCENT --discount-value 10',
    ],
    action: async (run, { options, args: [id = ''] }) => {
      requireFlatRate(options)
      const body = toBody(options)
      if (Object.keys(body).length === 0) throw usageError('Say what to change, for example --commission.')
      if (run.dryRun) return run.printDryRun('PATCH', `/api/v1/programs?id=${encodeURIComponent(id)}`, body)
      run.printRecord(await (await run.client()).programs.update(id, body))
    },
  })
  addFields(update)
  update
    .option('--lifetime', "a customer's first order connects the customer for good")
    .option('--no-lifetime', 'every order needs its own evidence')
    .addOption(choiceOption('--discount <type>', 'what its codes take off', [...enums.DiscountType, 'none']))
    .addOption(new Option('--discount-value <number>', 'per cent, or currency units').argParser(decimal))
}

function addFields(command: Command): Option {
  const name = new Option('--name <name>', 'name')
  command
    .addOption(name)
    .option('--description <text>', 'description')
    .addOption(
      choiceOption(
        '--type <type>',
        'how the commission is counted; the flat ones need --commission',
        enums.CommissionType,
      ),
    )
    .addOption(new Option('--commission <number>', 'per cent, or currency units for flat types').argParser(decimal))
    .addOption(new Option('--cookie-days <n>', 'how long a click counts; 0: never').argParser(decimal))
    .option('--auto-approve-affiliates', 'approve affiliates who join')
    .option('--no-auto-approve-affiliates', 'let affiliates wait for approval')
    .option('--auto-approve-orders', 'approve commissions at once')
    .option('--no-auto-approve-orders', 'let commissions wait for approval')
    .addOption(choiceOption('--status <status>', 'who sees it', enums.ProgramStatus))
  return name
}

const decimal = (text: string): number => {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError('It must be a number like 16 or 12.5.')
  return Number(text)
}

const FLAT_RATE_EXAMPLES: Record<string, string> = {
  FLAT_PER_ORDER: '16.00 for each order',
  FLAT_PER_ITEM: '16.00 for each piece',
}

/** The API would read a percentage as money. */
function requireFlatRate({ type = '', commission }: ProgramOptions): void {
  const meaning = FLAT_RATE_EXAMPLES[type]
  if (meaning && commission === undefined)
    throw usageError(
      `--type ${type} needs --commission: the number is currency units then, so that 16 means ${meaning}, not 16 %.`,
    )
}

/** Only what was given: a field that is left out keeps its value. */
function toBody(given: ProgramOptions): ProgramUpdate {
  const { discount } = given
  const body: ProgramUpdate = {
    name: given.name,
    description: given.description,
    commissionType: given.type as ProgramUpdate['commissionType'],
    commissionPercent: given.commission,
    cookieDurationDays: given.cookieDays,
    autoApproveAffiliate: given.autoApproveAffiliates,
    autoApproveOrder: given.autoApproveOrders,
    status: given.status as ProgramUpdate['status'],
    lifetimeCommission: given.lifetime,
    discountEnabled: discount && discount !== 'none',
    discountType: discount === 'none' ? null : discount,
    discountValue: discount === 'none' ? null : given.discountValue,
  } as ProgramUpdate
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
}
