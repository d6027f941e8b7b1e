import type { components } from '@referral/sdk'
import type { Command } from 'commander'
import { defineCommand, defineGroup } from '../command.ts'
import { unwrap, usageError } from '../errors.ts'
import type { Run } from '../run.ts'
import { requireSecret, type SecretOptions } from '../secrets.ts'

type SettingsUpdate = components['schemas']['SettingsUpdate']

/** The settings whose values are text; the others are JSON. */
const TEXT_SETTINGS = ['currency', 'timeZone', 'legacyMinimumPayout', 'clickTouch', 'storeDomain']
const SECRET_SETTINGS = ['storeWebhookSecret', 'stripeWebhookSecret']
const SECRETS = 'storeWebhookSecret and stripeWebhookSecret'

export function addSettings(program: Command): void {
  const settings = defineGroup(program, 'settings', "show and change the shop's settings")
  defineCommand(settings, 'get', {
    summary: 'show the settings',
    output: 'Settings',
    owner: true,
    action: async (run) => {
      run.printRecord(unwrap(await (await run.ownerClient()).GET('/admin/v1/settings')).data)
    },
  })
  defineCommand<SecretOptions>(settings, 'set <name> [value]', {
    summary: 'change a setting',
    details: `Lists and objects are JSON; null clears a setting. ${SECRETS} are read from --secret-file, --secret-stdin or a prompt.`,
    output: 'Settings',
    owner: true,
    writes: true,
    examples: [
      'referral settings set timeZone Europe/Berlin',
      `referral settings set minimumPayoutCentsByCurrency '{"EUR":2500}'`,
      `referral settings set siteDomains '["shop.example","www.shop.example"]'`,
      'referral settings set storeWebhookSecret --secret-file secret.txt',
    ],
    action: async (run, { options, args: [name = '', value] }) => set(run, { name, value }, options),
  })
    .option('--secret-file <file>', 'read a secret from a file')
    .option('--secret-stdin', 'read a secret from standard input')
}

async function set(
  run: Run,
  { name, value }: { name: string; value: string | undefined },
  options: SecretOptions,
): Promise<undefined> {
  const isSecret = SECRET_SETTINGS.includes(name) && value !== 'null'
  if (isSecret && value !== undefined)
    throw usageError('Secrets are never arguments.', 'Use --secret-stdin or --secret-file.')
  if (!isSecret && value === undefined) throw usageError(`A value of ${name} is required; null clears it.`)
  const parsed = isSecret ? await requireSecret(run.context, options) : parseValue(name, value ?? '')
  if (run.dryRun) return run.printDryRun('PATCH', '/admin/v1/settings', { [name]: isSecret ? '(hidden)' : parsed })
  const body = { [name]: parsed } as SettingsUpdate
  const { data } = unwrap(await (await run.ownerClient()).PATCH('/admin/v1/settings', { body }))
  run.printRecord(data)
  const stored = (data as Record<string, unknown>)[name]
  if (typeof parsed === 'string' && stored !== undefined && stored !== parsed)
    run.reporter.info(`${name} is stored as ${stored}.`)
}

function parseValue(name: string, text: string): unknown {
  if (text === 'null') return null
  if (TEXT_SETTINGS.includes(name)) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
