import type { Affiliate, AffiliateCreate, AffiliateQuery, AffiliateStatus, AffiliateUpdate } from '@referral/sdk'
import type { Command } from 'commander'
import { defineCommand, defineGroup } from '../command.ts'
import { enums } from '../contract.ts'
import { unwrap, usageError } from '../errors.ts'
import { addPageOptions, defineGet, type ListOptions, printList } from '../list.ts'
import { choiceOption } from '../options.ts'
import type { Column } from '../output/render.ts'
import { confirm } from '../prompt.ts'
import type { Run } from '../run.ts'
import { addPayee } from './payee.ts'

const COLUMNS: Column<Affiliate>[] = ['id', 'name', 'email', 'status', 'slug', 'discountCode', 'createdAt']

/** The options of `update`, except for `--status`. */
const EDITABLE_FIELDS: Record<Exclude<keyof AffiliateUpdate, 'status'>, [flags: string, description: string]> = {
  name: ['--name <name>', 'full name'],
  firstName: ['--first-name <name>', 'first name'],
  lastName: ['--last-name <name>', 'last name'],
  email: ['--email <address>', 'email address'],
  phone: ['--phone <number>', 'phone number'],
  website: ['--website <url>', 'website'],
  instagramHandle: ['--instagram <handle>', 'Instagram handle'],
  tiktokHandle: ['--tiktok <handle>', 'TikTok handle'],
  youtubeHandle: ['--youtube <handle>', 'YouTube handle'],
  homeCountry: ['--country <country>', 'country'],
  homeState: ['--state <state>', 'state'],
  homeCity: ['--city <city>', 'city'],
  homePostalCode: ['--postal-code <code>', 'postal code'],
  homeAddress: ['--address <address>', 'street address'],
  campaignId: ['--program <id>', 'program of the affiliate'],
}

const optionName = (flags: string) =>
  (flags.match(/--([a-z-]+)/)?.[1] ?? '').replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

export function addAffiliates(program: Command): void {
  const affiliates = defineGroup(program, 'affiliates', 'manage the people who refer customers')
  addList(affiliates)
  defineGet(affiliates, 'Affiliate', 'aff', (client, id) => client.affiliates.list({ id }))
  addCreate(affiliates)
  addUpdate(affiliates)
  addStatusChange(affiliates, 'approve', 'APPROVED')
  addStatusChange(affiliates, 'reject', 'REJECTED')
  addPayee(affiliates)
  defineCommand<{ yes?: boolean }>(affiliates, 'archive <id>', {
    summary: 'hide an affiliate and keep its data and commissions',
    output: 'ActionReply',
    writes: true,
    action: async (run, { options, args: [id = ''] }) => {
      if (run.dryRun) return run.printDryRun('DELETE', `/api/v1/affiliates?id=${encodeURIComponent(id)}`)
      const effect = 'Its links and tokens end for good, and nothing is paid until it is restored.'
      await confirm(run.context, `Archive ${id}? ${effect}`, options.yes)
      run.printRecord(await (await run.client()).affiliates.archive(id))
    },
  }).option('-y, --yes', 'skip the confirmation')
  defineCommand(affiliates, 'unarchive <id>', {
    summary: 'restore an archived affiliate',
    output: 'Affiliate',
    owner: true,
    writes: true,
    action: async (run, { args: [id = ''] }) => {
      if (run.dryRun) return run.printDryRun('POST', `/admin/v1/affiliates/${encodeURIComponent(id)}/unarchive`)
      const client = await run.ownerClient()
      const { data } = unwrap(await client.POST('/admin/v1/affiliates/{id}/unarchive', { params: { path: { id } } }))
      run.printRecord(data)
    },
  })
}

function addList(affiliates: Command): void {
  addPageOptions(
    defineCommand<ListOptions & { status?: AffiliateStatus; program?: string; search?: string }>(affiliates, 'list', {
      summary: 'list affiliates, newest first',
      output: 'Affiliate[]',
      examples: ['referral affiliates list --status PENDING', 'referral affiliates list --all --json=id,email'],
      action: async (run, { options }) => {
        const client = await run.client()
        const query = { status: options.status, campaignId: options.program, q: options.search } as AffiliateQuery
        await printList(run, options, {
          fetchPage: (paging) => client.affiliates.list({ ...query, ...paging }),
          columns: COLUMNS,
        })
      },
    }),
  )
    .addOption(choiceOption('--status <status>', 'filter by status', enums.AffiliateStatus))
    .option('--program <id>', 'filter by program')
    .option('--search <text>', 'search names and email addresses')
}

function addCreate(affiliates: Command): void {
  defineCommand<{ email: string; name?: string; firstName?: string; lastName?: string; program?: string }>(
    affiliates,
    'create',
    {
      summary: 'create an affiliate with a slug and a discount code',
      output: 'Affiliate',
      writes: true,
      examples: ["referral affiliates create --email noor@example.com --name 'Noor Haddad'"],
      action: async (run, { options }) => {
        const { email, name, firstName, lastName, program: campaignId } = options
        const body = { email, name, firstName, lastName, campaignId }
        if (run.dryRun) return run.printDryRun('POST', '/api/v1/affiliates', body)
        run.printRecord(await (await run.client()).affiliates.create(body as AffiliateCreate))
      },
    },
  )
    .requiredOption('--email <address>', 'email address')
    .option('--name <name>', 'full name; required without --first-name')
    .option('--first-name <name>', 'first name')
    .option('--last-name <name>', 'last name')
    .option('--program <id>', 'program to join (default: the default program of the shop)')
}

function addUpdate(affiliates: Command): void {
  const update = defineCommand<Record<string, string>>(affiliates, 'update <id>', {
    summary: 'update an affiliate; an empty value clears a field',
    output: 'Affiliate',
    writes: true,
    examples: ["referral affiliates update aff_… --website https://noor.example --phone ''"],
    action: async (run, { options, args: [id = ''] }) => {
      const fields = Object.entries(EDITABLE_FIELDS).map(
        ([field, [flags]]) => [field, options[optionName(flags)]] as const,
      )
      const changed = fields.filter(([, value]) => value !== undefined)
      const body = Object.fromEntries(changed.map(([field, value]) => [field, value || null]))
      if (options.status) body.status = options.status
      if (Object.keys(body).length === 0)
        throw usageError('No change was given. Pass at least one option, such as --phone.')
      await updateAffiliate(run, id, body)
    },
  })
  for (const [flags, description] of Object.values(EDITABLE_FIELDS)) update.option(flags, description)
  update.addOption(choiceOption('--status <status>', 'new status', enums.AffiliateStatus))
}

function addStatusChange(parent: Command, verb: string, status: 'APPROVED' | 'REJECTED'): void {
  defineCommand(parent, `${verb} <id>`, {
    summary: `${verb} an affiliate`,
    output: 'Affiliate',
    writes: true,
    action: (run, { args: [id = ''] }) => updateAffiliate(run, id, { status }),
  })
}

async function updateAffiliate(run: Run, id: string, body: AffiliateUpdate): Promise<undefined> {
  if (run.dryRun) return run.printDryRun('PATCH', `/api/v1/affiliates?id=${encodeURIComponent(id)}`, body)
  run.printRecord(await (await run.client()).affiliates.update(id, body))
}
