import { Command, Option } from 'commander'
import { settle } from './command.ts'
import { addAffiliates } from './commands/affiliates.ts'
import { addAnalytics } from './commands/analytics.ts'
import { addApi } from './commands/api.ts'
import { addCommissions } from './commands/commissions.ts'
import { addCoupons } from './commands/coupons.ts'
import { addDev } from './commands/dev.ts'
import { addDoctor } from './commands/doctor.ts'
import { addEvents } from './commands/events.ts'
import { addImport } from './commands/import.ts'
import { addJourney } from './commands/journey.ts'
import { addKeys } from './commands/keys.ts'
import { addLogin } from './commands/login.ts'
import { addMeta } from './commands/meta.ts'
import { addPayouts } from './commands/payouts.ts'
import { addPrograms } from './commands/programs.ts'
import { addWebhooks } from './commands/webhooks.ts'
import { version } from './version.ts'
import type { World } from './world.ts'

// In the order of help and reference.
const COMMANDS = [
  addLogin,
  addDoctor,
  addKeys,
  addAffiliates,
  addPrograms,
  addCommissions,
  addCoupons,
  addPayouts,
  addEvents,
  addAnalytics,
  addJourney,
  addWebhooks,
  addImport,
  addDev,
  addApi,
  addMeta,
]

/** The whole command tree. Without a world it can be read, for the reference and for completions. */
export function createProgram(world?: World): Command {
  const program = new Command('referral')
    .description('Affiliates, commissions, payouts and webhooks of a referral program.')
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help of a command')
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({ outputError: () => {}, ...(world ? outputs(world) : {}) })
  for (const option of globalOptions()) program.addOption(option)
  for (const add of COMMANDS) add(program)
  if (world) settle(program, world)
  return program
}

const outputs = (world: World) => ({
  writeOut: (text: string) => void world.stdout.write(text),
  writeErr: (text: string) => void world.stderr.write(text),
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
