import { Command, Option } from 'commander'
import { attachContext } from './command.ts'
import type { CliContext } from './context.ts'
import { version } from './version.ts'

type RegisterCommands = (program: Command) => void

// In the order of the help and the reference. Each run loads only its own command, which keeps startup fast.
const COMMAND_GROUPS: readonly [names: readonly string[], load: () => Promise<RegisterCommands>][] = [
  [['login', 'logout', 'whoami', 'profiles'], async () => (await import('./commands/auth.ts')).addAuth],
  [['doctor'], async () => (await import('./commands/doctor/command.ts')).addDoctor],
  [['keys'], async () => (await import('./commands/keys.ts')).addKeys],
  [['test-shops'], async () => (await import('./commands/test-shops.ts')).addTestShops],
  [['affiliates'], async () => (await import('./commands/affiliates.ts')).addAffiliates],
  [['aliases'], async () => (await import('./commands/aliases.ts')).addAliases],
  [['programs'], async () => (await import('./commands/programs.ts')).addPrograms],
  [['commissions'], async () => (await import('./commands/commissions/command.ts')).addCommissions],
  [['coupons'], async () => (await import('./commands/coupons.ts')).addCoupons],
  [['payouts'], async () => (await import('./commands/payouts/command.ts')).addPayouts],
  [['statements'], async () => (await import('./commands/statements/command.ts')).addStatements],
  [['events'], async () => (await import('./commands/events/command.ts')).addEvents],
  [['analytics'], async () => (await import('./commands/analytics.ts')).addAnalytics],
  [['journey'], async () => (await import('./commands/journey.ts')).addJourney],
  [['webhooks'], async () => (await import('./commands/webhooks/command.ts')).addWebhooks],
  [['import'], async () => (await import('./commands/import/command.ts')).addImport],
  [['conformance'], async () => (await import('./commands/conformance.ts')).addConformance],
  [['dev'], async () => (await import('./commands/dev/command.ts')).addDev],
  [['api'], async () => (await import('./commands/api.ts')).addApi],
  [['open', 'docs', 'completion', 'commands', 'version'], async () => (await import('./commands/meta.ts')).addMeta],
]

/**
 * Builds the command tree. Without a context it can be described but not run. With the name of a top-level command, it
 * contains only that command's group.
 */
export async function createProgram(context?: CliContext, name?: string): Promise<Command> {
  const program = new Command('referral')
    .description('Affiliates, commissions, payouts and webhooks of a referral program.')
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ outputError: () => {}, ...(context ? outputsTo(context) : {}) })
  for (const option of globalOptions()) program.addOption(option)
  const matching = COMMAND_GROUPS.filter(([names]) => name !== undefined && names.includes(name))
  for (const [, load] of matching.length ? matching : COMMAND_GROUPS) (await load())(program)
  if (context) attachContext(program, context)
  return program
}

const outputsTo = (context: CliContext) => ({
  writeOut: (text: string) => void context.stdout.write(text),
  writeErr: (text: string) => void context.stderr.write(text),
})

const globalOptions = (): Option[] => [
  new Option('--profile <name>', 'use this profile instead of the current one'),
  new Option('--json [fields]', 'print JSON; --json=id,email prints only these fields'),
  new Option('-o, --output <format>', 'output format').choices(['table', 'json', 'ndjson', 'csv']),
  new Option('--plain', 'no colors, and tab-separated lines instead of tables'),
  new Option('--quiet', 'no informational messages on standard error'),
  new Option('--verbose', 'log every request to standard error'),
  new Option('--wait', 'wait for the next window when rate limited'),
]
