import type { components } from '@referral/sdk'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { defineCommand, defineGroup } from '../command.ts'
import { unwrap, usageError } from '../errors.ts'
import type { Column } from '../output/render.ts'
import { confirm } from '../prompt.ts'
import type { Run } from '../run.ts'

type Schemas = components['schemas']

const COLUMNS: Column<Schemas['TestShop']>[] = ['id', 'name', 'plan', 'currency', 'now', 'createdAt']
const DAY_SECONDS = 86_400

export function addTestShops(program: Command): void {
  const shops = defineGroup(program, 'test-shops', 'manage test shops and their clocks')
  defineCommand(shops, 'list', {
    summary: 'list test shops, with the time of their clocks',
    output: 'TestShop[]',
    owner: true,
    action: async (run) => {
      run.printRows(unwrap(await (await run.ownerClient()).GET('/admin/v1/test-shops')).data, COLUMNS)
    },
  })
  defineCommand<{ name?: string }>(shops, 'create', {
    summary: 'create a test shop, and print its key and its owner token once',
    output: 'TestShopCreated',
    owner: true,
    writes: true,
    examples: ['referral test-shops create --name "Checkout tests"'],
    action: async (run, { options }) => createTestShop(run, options),
  }).addOption(new Option('--name <name>', "default: the shop's name and `(test)`"))
  defineCommand<AdvanceOptions>(shops, 'advance <id>', {
    summary: 'advance the clock of a test shop',
    output: 'TestShop',
    owner: true,
    writes: true,
    examples: [
      'referral test-shops advance shp_01KAH0000000000000000000T1 --days 31',
      'referral test-shops advance shp_01KAH0000000000000000000T1 --to 2027-01-01',
    ],
    action: async (run, { options, args: [id = ''] }) => advanceClock(run, id, options),
  })
    .addOption(new Option('--days <days>', 'by how many days').argParser(readCount))
    .addOption(new Option('--seconds <seconds>', 'by how many seconds').argParser(readCount))
    .addOption(new Option('--to <time>', 'to a date or a timestamp'))
  defineCommand<{ yes?: boolean }>(shops, 'delete <id>', {
    summary: 'delete a test shop with all its data and keys',
    output: 'ActionReply',
    owner: true,
    writes: true,
    action: async (run, { options, args: [id = ''] }) => deleteTestShop(run, id, options),
  }).option('-y, --yes', 'skip the confirmation')
}

function readCount(value: string): number {
  if (!/^[1-9]\d{0,9}$/.test(value)) throw new InvalidArgumentError('It must be an integer of at least 1.')
  return Number(value)
}

async function createTestShop(run: Run, { name }: { name?: string }): Promise<undefined> {
  const body = name === undefined ? {} : { name }
  if (run.dryRun) return run.printDryRun('POST', '/admin/v1/test-shops', body)
  const { data } = unwrap(await (await run.ownerClient()).POST('/admin/v1/test-shops', { body }))
  run.reporter.info('Store the key and the token now: they are not shown again.')
  run.printRecord(data)
}

interface AdvanceOptions {
  days?: number
  seconds?: number
  to?: string
}

async function advanceClock(run: Run, id: string, { days, seconds, to }: AdvanceOptions): Promise<undefined> {
  if ([days, seconds, to].filter((option) => option !== undefined).length !== 1)
    throw usageError('Pass one of --days, --seconds, and --to.')
  const body = to === undefined ? { advanceSeconds: seconds ?? (days ?? 0) * DAY_SECONDS } : { to }
  if (run.dryRun) return run.printDryRun('POST', `/admin/v1/test-shops/${encodeURIComponent(id)}/clock`, body)
  const client = await run.ownerClient()
  run.printRecord(unwrap(await client.POST('/admin/v1/test-shops/{id}/clock', { params: { path: { id } }, body })).data)
}

async function deleteTestShop(run: Run, id: string, { yes }: { yes?: boolean }): Promise<undefined> {
  if (run.dryRun) return run.printDryRun('DELETE', `/admin/v1/test-shops/${encodeURIComponent(id)}`)
  await confirm(run.context, `Delete the test shop ${id} with all its data?`, yes)
  const client = await run.ownerClient()
  run.printRecord(unwrap(await client.DELETE('/admin/v1/test-shops/{id}', { params: { path: { id } } })))
}
