import { type Command, InvalidArgumentError, Option } from 'commander'
import { group, leaf, repeated } from '../command.ts'
import { values } from '../contract.ts'
import type { CreateKeyOptions } from '../keys.ts'

export function addKeys(program: Command): void {
  const keys = group(program, 'keys', 'API keys of the shop')
  leaf(keys, 'list', {
    summary: 'list keys, revoked ones too',
    output: 'ApiKey[]',
    owner: true,
    work: async (run) => (await import('../keys.ts')).listKeys(run),
  })
  leaf<CreateKeyOptions>(keys, 'create', {
    summary: 'make a key; its secret is printed this once',
    output: 'ApiKeyWithSecret',
    owner: true,
    writes: true,
    examples: [
      'referral keys create --label Checkout --scope events:write',
      'referral keys create --label Scripts --scope all --json=secret | jq -r .secret | referral login --profile scripts',
    ],
    work: async (run, { options }) =>
      (await import('../keys.ts')).createKey(
        run,
        options,
        options.scope.includes('all') ? [...values.Scope] : options.scope,
      ),
  })
    .requiredOption('--label <label>', 'what the key is for')
    .addOption(
      repeated('--scope <scope>', 'what it may do; repeat, or `all`')
        .choices([...values.Scope, 'all'])
        .argParser(readScope)
        .makeOptionMandatory(),
    )
    .addOption(new Option('--expires <time>', 'from when it is refused; never when left out'))
  for (const [verb, summary] of [
    ['rotate', 'replace the secret of a key; the old one stops at once'],
    ['revoke', 'stop a key at once and for good'],
  ] as const)
    leaf<{ yes?: boolean }>(keys, `${verb} <id>`, {
      summary,
      output: verb === 'rotate' ? 'ApiKeyWithSecret' : 'Revoked',
      owner: true,
      writes: true,
      work: async (run, { options, args: [id = ''] }) => (await import('../keys.ts'))[verb](run, id, options),
    }).option('-y, --yes', 'do not ask')
}

function readScope(value: string, all: string[] = []): string[] {
  const known: readonly string[] = [...values.Scope, 'all']
  for (const one of value.split(','))
    if (!known.includes(one)) throw new InvalidArgumentError(`Scopes are ${known.join(', ')}.`)
  return [...all, ...value.split(',')]
}
