import { type Command, InvalidArgumentError, Option } from 'commander'
import { defineCommand, defineGroup, repeatableOption } from '../command.ts'
import { enums } from '../contract.ts'
import type { CreateKeyOptions } from '../keys.ts'

export function addKeys(program: Command): void {
  const keys = defineGroup(program, 'keys', 'API keys of the shop')
  defineCommand(keys, 'list', {
    summary: 'list keys, revoked ones too',
    output: 'ApiKey[]',
    owner: true,
    action: async (run) => (await import('../keys.ts')).listKeys(run),
  })
  defineCommand<CreateKeyOptions>(keys, 'create', {
    summary: 'make a key; its secret is printed this once',
    output: 'ApiKeyWithSecret',
    owner: true,
    writes: true,
    examples: [
      'referral keys create --label Checkout --scope events:write',
      'referral keys create --label Scripts --scope all --json=secret | jq -r .secret | referral login --profile scripts',
    ],
    action: async (run, { options }) =>
      (await import('../keys.ts')).createKey(
        run,
        options,
        options.scope.includes('all') ? [...enums.Scope] : options.scope,
      ),
  })
    .requiredOption('--label <label>', 'what the key is for')
    .addOption(
      repeatableOption('--scope <scope>', 'what it may do; repeat, or `all`')
        .choices([...enums.Scope, 'all'])
        .argParser(readScope)
        .makeOptionMandatory(),
    )
    .addOption(new Option('--expires <time>', 'from when it is refused; never when left out'))
  for (const [verb, perform, summary] of [
    ['rotate', 'rotateKey', 'replace the secret of a key; the old one stops at once'],
    ['revoke', 'revokeKey', 'stop a key at once and for good'],
  ] as const)
    defineCommand<{ yes?: boolean }>(keys, `${verb} <id>`, {
      summary,
      output: verb === 'rotate' ? 'ApiKeyWithSecret' : 'Revoked',
      owner: true,
      writes: true,
      action: async (run, { options, args: [id = ''] }) => (await import('../keys.ts'))[perform](run, id, options),
    }).option('-y, --yes', 'do not ask')
}

function readScope(value: string, all: string[] = []): string[] {
  const known: readonly string[] = [...enums.Scope, 'all']
  for (const one of value.split(','))
    if (!known.includes(one)) throw new InvalidArgumentError(`Scopes are ${known.join(', ')}.`)
  return [...all, ...value.split(',')]
}
