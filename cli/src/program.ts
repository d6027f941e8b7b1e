import { Command, Option } from 'commander'
import { attachContext } from './command.ts'
import type { CliContext } from './context.ts'
import { addTopics, topics } from './topics.ts'
import { version } from './version.ts'

/** `createFullProgram` builds the tree of all commands, for those that describe it. */
type RegisterCommands = (program: Command, createFullProgram: () => Promise<Command>) => void

interface CommandGroup {
  names: readonly string[]
  load: () => Promise<RegisterCommands>
}

// Grouped by task, in the order of the help and the reference. Each run loads only its own command, which keeps
// startup fast.
const COMMAND_GROUPS: Readonly<Record<string, readonly CommandGroup[]>> = {
  'Set up:': [
    {
      names: ['login', 'logout', 'whoami', 'profiles'],
      load: async () => (await import('./commands/auth.ts')).addAuth,
    },
    { names: ['doctor'], load: async () => (await import('./commands/doctor/command.ts')).addDoctor },
    { names: ['keys'], load: async () => (await import('./commands/keys.ts')).addKeys },
    { names: ['settings'], load: async () => (await import('./commands/settings.ts')).addSettings },
  ],
  'Manage affiliates and what they earn:': [
    { names: ['affiliates'], load: async () => (await import('./commands/affiliates.ts')).addAffiliates },
    { names: ['aliases'], load: async () => (await import('./commands/aliases.ts')).addAliases },
    { names: ['coupons'], load: async () => (await import('./commands/coupons.ts')).addCoupons },
    { names: ['customers'], load: async () => (await import('./commands/customers.ts')).addCustomers },
    { names: ['programs'], load: async () => (await import('./commands/programs.ts')).addPrograms },
    { names: ['orders'], load: async () => (await import('./commands/orders/command.ts')).addOrders },
    { names: ['commissions'], load: async () => (await import('./commands/commissions/command.ts')).addCommissions },
  ],
  'Pay affiliates:': [
    { names: ['payouts'], load: async () => (await import('./commands/payouts/command.ts')).addPayouts },
    { names: ['statements'], load: async () => (await import('./commands/statements/command.ts')).addStatements },
  ],
  'Report and import:': [
    { names: ['events'], load: async () => (await import('./commands/events/command.ts')).addEvents },
    { names: ['stripe'], load: async () => (await import('./commands/stripe/command.ts')).addStripe },
    { names: ['import'], load: async () => (await import('./commands/import/command.ts')).addImport },
  ],
  'Analyze:': [
    { names: ['analytics'], load: async () => (await import('./commands/analytics.ts')).addAnalytics },
    { names: ['journey'], load: async () => (await import('./commands/journey.ts')).addJourney },
  ],
  'Develop and test:': [
    { names: ['webhooks'], load: async () => (await import('./commands/webhooks/command.ts')).addWebhooks },
    { names: ['test-shops'], load: async () => (await import('./commands/test-shops.ts')).addTestShops },
    { names: ['dev'], load: async () => (await import('./commands/dev/command.ts')).addDev },
    { names: ['conformance'], load: async () => (await import('./commands/conformance.ts')).addConformance },
    { names: ['mcp'], load: async () => (await import('./commands/mcp/command.ts')).addMcp },
    { names: ['api'], load: async () => (await import('./commands/api.ts')).addApi },
  ],
  'Get help:': [
    {
      names: ['open', 'docs', 'completion', 'commands', 'version'],
      load: async () => (await import('./commands/meta.ts')).addMeta,
    },
    { names: Object.keys(topics), load: async () => addTopics },
  ],
}

/**
 * Builds the command tree. Without a context it can be described but not run. With the name of a top-level command, it
 * contains only that command's group.
 */
export async function createProgram(context?: CliContext, name?: string): Promise<Command> {
  const program = new Command('referral')
    .description('Affiliates, commissions, payouts and webhooks of a referral program.')
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .commandsGroup('Get help:')
    .helpCommand('help [command]', 'show help for a command or a topic')
    .addHelpText('afterAll', ({ command }) =>
      command.parent ? '\nGlobal options such as --json and --profile: referral --help' : '',
    )
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ outputError: () => {}, ...(context ? outputsTo(context) : {}) })
  for (const option of globalOptions()) program.addOption(option)
  const groups = Object.entries(COMMAND_GROUPS).flatMap(([heading, group]) =>
    group.map((command) => ({ heading, ...command })),
  )
  const matching = groups.filter(({ names }) => name !== undefined && names.includes(name))
  for (const { heading, load } of matching.length ? matching : groups) {
    program.commandsGroup(heading)
    const addCommands = await load()
    addCommands(program, createProgram)
  }
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
