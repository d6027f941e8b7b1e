import { Command, Option } from 'commander'
import { attachContext } from './command.ts'
import { version } from './version.ts'
import type { CliContext } from './world.ts'

type RegisterCommands = (program: Command) => void

// In the order of help and reference. A run reads only the file of its command: most of the start is reading.
const COMMAND_GROUPS: readonly [names: readonly string[], load: () => Promise<RegisterCommands>][] = [
  [['login', 'logout', 'whoami', 'profiles'], async () => (await import('./commands/login.ts')).addAuth],
  [['doctor'], async () => (await import('./commands/doctor.ts')).addDoctor],
  [['keys'], async () => (await import('./commands/keys.ts')).addKeys],
  [['affiliates'], async () => (await import('./commands/affiliates.ts')).addAffiliates],
  [['programs'], async () => (await import('./commands/programs.ts')).addPrograms],
  [['commissions'], async () => (await import('./commands/commissions.ts')).addCommissions],
  [['coupons'], async () => (await import('./commands/coupons.ts')).addCoupons],
  [['payouts'], async () => (await import('./commands/payouts.ts')).addPayouts],
  [['events'], async () => (await import('./commands/events.ts')).addEvents],
  [['analytics'], async () => (await import('./commands/analytics.ts')).addAnalytics],
  [['journey'], async () => (await import('./commands/journey.ts')).addJourney],
  [['webhooks'], async () => (await import('./commands/webhooks.ts')).addWebhooks],
  [['import'], async () => (await import('./commands/import.ts')).addImport],
  [['dev'], async () => (await import('./commands/dev.ts')).addDev],
  [['api'], async () => (await import('./commands/api.ts')).addApi],
  [['open', 'docs', 'completion', 'commands', 'version'], async () => (await import('./commands/meta.ts')).addMeta],
]

/** The command tree, without a context only to be read. With a command's name it holds that command and its neighbours. */
export async function createProgram(context?: CliContext, name?: string): Promise<Command> {
  const program = new Command('referral')
    .description('Affiliates, commissions, payouts and webhooks of a referral program.')
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help of a command')
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ outputError: () => {}, ...(context ? outputsTo(context) : {}) })
  for (const option of globalOptions()) program.addOption(option)
  const own = COMMAND_GROUPS.filter(([names]) => name !== undefined && names.includes(name))
  for (const [, load] of own.length ? own : COMMAND_GROUPS) (await load())(program)
  if (context) attachContext(program, context)
  return program
}

const outputsTo = (context: CliContext) => ({
  writeOut: (text: string) => void context.stdout.write(text),
  writeErr: (text: string) => void context.stderr.write(text),
})

const globalOptions = (): Option[] => [
  new Option('--profile <name>', 'the profile to use instead of the current one'),
  new Option('--json [fields]', 'JSON; --json=id,email for some of its fields'),
  new Option('-o, --output <format>', 'how data is printed').choices(['table', 'json', 'ndjson', 'csv']),
  new Option('--plain', 'no colours, and tab-separated lines instead of tables'),
  new Option('--quiet', 'no notes on standard error'),
  new Option('--verbose', 'every request on standard error'),
  new Option('--wait', 'when rate limited, wait for the next window'),
]
