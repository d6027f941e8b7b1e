import type { components } from '@referral/sdk'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { defineCommand, defineGroup } from '../command.ts'
import { enums } from '../contract.ts'
import { unwrap } from '../errors.ts'
import { repeatableOption } from '../options.ts'
import type { Column } from '../output/render.ts'
import { confirm } from '../prompt.ts'
import type { Run } from '../run.ts'

export function addKeys(program: Command): void {
  const keys = defineGroup(program, 'keys', 'manage the API keys of the shop')
  defineCommand(keys, 'list', {
    summary: 'list keys, including revoked ones',
    output: 'ApiKey[]',
    owner: true,
    action: async (run) => listKeys(run),
  })
  defineCommand<CreateKeyOptions>(keys, 'create', {
    summary: 'create a key and print its secret once',
    output: 'ApiKeyWithSecret',
    owner: true,
    writes: true,
    examples: [
      'referral keys create --label Checkout --scope events:write',
      'referral keys create --label Scripts --scope all --json=secret | jq -r .secret | referral login --profile scripts',
    ],
    action: async (run, { options }) =>
      createKey(run, options, options.scope.includes('all') ? [...enums.Scope] : options.scope),
  })
    .requiredOption('--label <label>', 'name of the key')
    .addOption(
      repeatableOption('--scope <scope>', 'scope of the key; repeat for several, or `all`')
        .choices([...enums.Scope, 'all'])
        .argParser(readScope)
        .makeOptionMandatory(),
    )
    .addOption(new Option('--expires <time>', 'when the key expires (default: never)'))
  defineCommand<RotateKeyOptions>(keys, 'rotate <id>', {
    summary: 'replace the secret of a key; the old one stops working immediately, or after an overlap',
    output: 'ApiKeyWithSecret',
    owner: true,
    writes: true,
    examples: ['referral keys rotate key_01KAH0000000000000000000K1 --overlap-seconds 3600'],
    action: async (run, { options, args: [id = ''] }) => rotateKey(run, id, options),
  })
    .addOption(
      new Option(
        '--overlap-seconds <seconds>',
        'how long the old secret remains valid, up to 604800 (default: 0)',
      ).argParser(readSeconds),
    )
    .option('-y, --yes', 'skip the confirmation')
  defineCommand<{ yes?: boolean }>(keys, 'revoke <id>', {
    summary: 'revoke a key permanently',
    output: 'Revoked',
    owner: true,
    writes: true,
    action: async (run, { options, args: [id = ''] }) => revokeKey(run, id, options),
  }).option('-y, --yes', 'skip the confirmation')
}

function readScope(value: string, all: string[] = []): string[] {
  const known: readonly string[] = [...enums.Scope, 'all']
  for (const scope of value.split(','))
    if (!known.includes(scope)) throw new InvalidArgumentError(`Valid scopes are ${known.join(', ')}.`)
  return [...all, ...value.split(',')]
}

function readSeconds(value: string): number {
  if (!/^\d{1,6}$/.test(value)) throw new InvalidArgumentError('It must be an integer from 0 to 604800.')
  return Number(value)
}

interface RotateKeyOptions {
  overlapSeconds?: number
  yes?: boolean
}

type Key = components['schemas']['ApiKey']
type Scope = components['schemas']['Scope']

export interface CreateKeyOptions {
  label: string
  scope: string[]
  expires?: string
}

const COLUMNS: Column<Key>[] = [
  'id',
  'label',
  'prefix',
  'status',
  { field: 'scopes', format: ({ scopes }) => (scopes.length === enums.Scope.length ? 'all' : scopes.join(' ')) },
  'lastUsedAt',
  'expiresAt',
]

export async function listKeys(run: Run): Promise<undefined> {
  const { data } = unwrap(await (await run.ownerClient()).GET('/admin/v1/keys'))
  run.printRows(data, COLUMNS)
}

export async function createKey(run: Run, { label, expires }: CreateKeyOptions, scopes: string[]): Promise<undefined> {
  const body = { label, scopes: [...new Set(scopes)] as Scope[], ...(expires ? { expiresAt: expires } : {}) }
  if (run.dryRun) return run.printDryRun('POST', '/admin/v1/keys', body)
  const { data } = unwrap(await (await run.ownerClient()).POST('/admin/v1/keys', { body }))
  run.reporter.info('Store the secret now: it is not shown again.')
  run.printRecord(data)
}

export async function rotateKey(
  run: Run,
  id: string,
  { overlapSeconds = 0, yes }: RotateKeyOptions,
): Promise<undefined> {
  const body = { overlapSeconds }
  if (run.dryRun) return run.printDryRun('POST', `/admin/v1/keys/${encodeURIComponent(id)}/rotate`, body)
  const then = overlapSeconds > 0 ? `in ${overlapSeconds} seconds` : 'immediately'
  await confirm(run.context, `Replace the secret of ${id}? Clients that use the old one stop working ${then}.`, yes)
  const { data } = unwrap(
    await (await run.ownerClient()).POST('/admin/v1/keys/{id}/rotate', { params: { path: { id } }, body }),
  )
  run.reporter.info('Store the secret now: it is not shown again.')
  run.printRecord(data)
}

/** Succeeds if the key is already revoked. */
export async function revokeKey(run: Run, id: string, { yes }: { yes?: boolean }): Promise<undefined> {
  if (run.dryRun) return run.printDryRun('DELETE', `/admin/v1/keys/${encodeURIComponent(id)}`)
  await confirm(run.context, `Revoke ${id} permanently? Clients that use it stop working.`, yes)
  const result = await (await run.ownerClient()).DELETE('/admin/v1/keys/{id}', { params: { path: { id } } })
  const isRevoked = result.response.headers.get('X-Error-Code') === 'key_already_revoked'
  if (isRevoked) run.reporter.info('This key is already revoked; nothing was changed.')
  else unwrap(result)
  run.printRecord({ id, changed: !isRevoked })
}
