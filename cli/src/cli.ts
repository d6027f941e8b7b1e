import type { CommanderError } from 'commander'
import { CliError, exit } from './exit.ts'
import { toFailure } from './failure.ts'
import type { Globals } from './output/style.ts'
import { createProgram } from './program.ts'
import { refuseSecretsIn } from './secrets.ts'
import { tellFailure } from './talk.ts'
import type { World } from './world.ts'

/** Runs one command; the answer is the exit code. */
export async function runCli(world: World, argv: readonly string[]): Promise<number> {
  // Options before the command may take values: then the whole tree decides.
  const program = await createProgram(world, argv[0])
  try {
    refuseSecretsIn(argv)
    await program.parseAsync(readJsonFlag(argv), { from: 'user' })
    return Number(process.exitCode ?? exit.done)
  } catch (thrown) {
    if (isCommanderError(thrown) && thrown.exitCode === 0) return exit.done
    // Help that nobody asked for has been printed: a command name is missing.
    if (isCommanderError(thrown) && thrown.code === 'commander.help') return exit.usage
    const error = isCommanderError(thrown) ? toUsage(thrown) : thrown
    const globals = program.opts<Globals>()
    const failure = toFailure(error)
    tellFailure(world, failure, globals)
    if (globals.verbose && failure.exit === exit.unexpected) world.stderr.write(`${(error as Error).stack}\n`)
    return failure.exit
  }
}

/** `--json` alone takes no value: the next word is an argument. */
const readJsonFlag = (argv: readonly string[]): string[] => {
  const end = argv.indexOf('--')
  return argv.map((one, i) => (one === '--json' && (end < 0 || i < end) ? '--json=' : one))
}

const isCommanderError = (error: unknown): error is CommanderError =>
  error instanceof Error && 'exitCode' in error && String((error as CommanderError).code).startsWith('commander.')

const toUsage = ({ message }: CommanderError) =>
  new CliError(exit.usage, message.replace(/^error: /, ''), { code: 'usage', hint: 'Add --help to see what there is.' })
