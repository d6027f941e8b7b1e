import { readFileSync } from 'node:fs'
import type {
  Program,
  ProgramCreate,
  ProgramQuery,
  ProgramStatus,
  ProgramTerms,
  ProgramTermsSet,
  ProgramUpdate,
  ReferralClient,
} from '@referral/sdk'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { defineCommand, defineGroup } from '../command.ts'
import { enums } from '../contract.ts'
import { usageError } from '../errors.ts'
import { addPageOptions, defineGet, type ListOptions, printList } from '../list.ts'
import { formatMoney } from '../money.ts'
import { choiceOption } from '../options.ts'
import type { Column } from '../output/render.ts'
import type { Run } from '../run.ts'

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
  addTerms(programs)
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

/** Requires the type for a flat rate. Otherwise, the API would interpret a percentage as an amount of money. */
function requireFlatRate({ type = '', commission }: ProgramOptions): void {
  const meaning = FLAT_RATE_EXAMPLES[type]
  if (meaning && commission === undefined)
    throw usageError(
      `--type ${type} requires --commission. The number is in currency units: 16 means ${meaning}, not 16%.`,
    )
}

/** Returns only the given fields. The others keep their values. */
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

type Rule = NonNullable<ProgramTermsSet['rules']>[number]

interface TermsOptions {
  firstMonths?: number
  firstOrders?: number
  then?: number
  tier?: number
  affiliate?: string[]
  rate?: number
  months?: number
  rules?: string
  holdDays?: number
  appliesTo?: ProgramTermsSet['appliesTo']
}

function addTerms(programs: Command): void {
  const terms = defineGroup(programs, 'terms', 'manage what a program pays for which order, and when')
  defineCommand<{ earlier?: number }>(terms, 'get <id>', {
    summary: 'show what a program pays, in one sentence and by rule',
    output: 'ProgramTerms',
    action: async (run, { options: { earlier }, args: [id = ''] }) => {
      run.printRecord(await (await run.client()).programs.terms(id, earlier === undefined ? {} : { version: earlier }))
    },
  }).addOption(new Option('--earlier <version>', 'an earlier version').argParser(decimal))

  defineCommand<TermsOptions>(terms, 'set <id>', {
    summary: 'change what a program pays for later orders',
    details:
      'Each option changes its part of the terms and keeps the others: `--first-months`, `--first-orders` and `--tier` replace rules of their kind, `--affiliate` puts a personal rate before all rules, and `--rules` replaces all of them. What pays nothing comes before tiers. A personal rate has no end without `--months`.',
    output: 'ProgramTerms',
    writes: true,
    examples: [
      'referral programs terms set prg_… --first-months 12 --hold-days 30',
      'referral programs terms set prg_… --first-orders 1',
      'referral programs terms set prg_… --first-months 12 --then 10',
      'referral programs terms set prg_… --tier 10 --rate 20',
      'referral programs terms set prg_… --affiliate aff_… --rate 25 --months 12',
    ],
    action: async (run, { options, args: [id = ''] }) => {
      const client = await run.client()
      const current = await client.programs.terms(id)
      const body = {
        version: current.version,
        holdDays: options.holdDays ?? current.holdDays,
        appliesTo: options.appliesTo ?? current.appliesTo,
        rules: changedRules(current, options),
      } as ProgramTermsSet
      if (run.dryRun) return run.printDryRun('PUT', `/api/v1/programs/terms?id=${encodeURIComponent(id)}`, body)
      run.printRecord(await client.programs.setTerms(id, body))
      await warnAboutRenewals(run, client, { id, body })
    },
  })
    .addOption(
      new Option('--first-months <n>', "pay the program's rate for this many months of a customer").argParser(decimal),
    )
    .addOption(
      new Option('--first-orders <n>', "pay the program's rate for this many orders of a customer").argParser(decimal),
    )
    .addOption(new Option('--then <rate>', 'what is paid afterwards; nothing if omitted').argParser(decimal))
    .addOption(
      new Option('--tier <n>', 'pay --rate once an affiliate has this many orders in the month').argParser(decimal),
    )
    .addOption(new Option('--affiliate <ids...>', 'pay --rate to these affiliates'))
    .addOption(new Option('--rate <rate>', 'percent, or currency units for flat types').argParser(decimal))
    .addOption(new Option('--months <n>', 'pay --affiliate for this many months of a customer').argParser(decimal))
    .option('--rules <file>', 'JSON file with all rules, as the API has them')
    .addOption(new Option('--hold-days <n>', 'days until a batch takes a commission').argParser(decimal))
    .addOption(
      choiceOption('--applies-to <which>', 'whether customers keep the terms of their first order', [
        'ORDERS',
        'CUSTOMERS',
      ]),
    )
}

/** Renewals bring no code: without a binding, rules by the customer's months or orders never apply to them. */
async function warnAboutRenewals(
  run: Run,
  client: ReferralClient,
  { id, body: { rules } }: { id: string; body: ProgramTermsSet },
): Promise<void> {
  if (!rules?.some(({ when }) => when.customerMonth || when.customerOrder)) return
  const [program] = (await client.programs.list({ id })).data
  if (program?.lifetimeCommission === false)
    run.reporter.warn(
      `A renewal without a code or link is credited only if its customer is bound. Report sign-ups, or run referral programs update ${id} --lifetime.`,
    )
}

/** Adds the rules that the options name. A new rule replaces those with the same kind of condition. */
function changedRules(current: ProgramTerms, options: TermsOptions): Rule[] {
  const { firstMonths, firstOrders, tier, affiliate, rate, months } = options
  const after = options.then ?? null
  if (options.rules) return readRules(options.rules)
  if ((tier !== undefined || affiliate) && rate === undefined)
    throw usageError('--tier and --affiliate require --rate.')
  if (options.then !== undefined && firstMonths === undefined && firstOrders === undefined)
    throw usageError('--then requires --first-months or --first-orders.')
  if (months !== undefined && !affiliate) throw usageError('--months requires --affiliate.')
  if ([firstMonths, firstOrders, months].includes(0))
    throw usageError('--first-months, --first-orders and --months must be at least 1.')
  const added: Rule[] = [
    ...(tier === undefined
      ? []
      : [{ when: { affiliateOrders: { from: tier, period: 'MONTH' as const } }, commissionPercent: rate! }]),
    ...(firstMonths === undefined
      ? []
      : [{ when: { customerMonth: { from: firstMonths } }, commissionPercent: after }]),
    ...(firstOrders === undefined
      ? []
      : [{ when: { customerOrder: { from: firstOrders + 1 } }, commissionPercent: after }]),
  ]
  const kindOf = ({ when }: Rule) => Object.keys(when).join()
  const others = (current.rules as Rule[]).filter(
    (rule) => !added.some((addedRule) => kindOf(addedRule) === kindOf(rule)),
  )
  const during = months === undefined ? {} : { customerMonth: { to: months - 1 } }
  const personal = affiliate ? [{ when: { affiliateIds: affiliate, ...during }, commissionPercent: rate! }] : []
  // No tier should overrule that later orders earn nothing.
  const first = others.findIndex(({ when, commissionPercent }) => !when.affiliateIds && commissionPercent !== null)
  const at = first < 0 ? others.length : first
  const [ending, paying] = [true, false].map((ends) =>
    added.filter(({ commissionPercent }) => (commissionPercent === null) === ends),
  )
  return [...personal, ...others.slice(0, at), ...ending!, ...others.slice(at), ...paying!]
}

function readRules(file: string): Rule[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw usageError(`--rules must be a JSON file: ${(error as Error).message}`)
  }
}
