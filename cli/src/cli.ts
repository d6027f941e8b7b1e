import type { CommanderError } from 'commander'
import { CliError, exitCode } from './exit.ts'
import { toFailure } from './failure.ts'
import type { GlobalOptions } from './output/style.ts'
import { createProgram } from './program.ts'
import { rejectSecretArguments } from './secrets.ts'
import { reportFailure } from './talk.ts'
import type { CliContext } from './world.ts'

/** Runs one command; the answer is the exit code. */
export async function runCli(context: CliContext, argv: readonly string[]): Promise<number> {
  // Options before the command may take values: then the whole tree decides.
  const program = await createProgram(context, argv[0])
  try {
    rejectSecretArguments(argv)
    await program.parseAsync(normalizeJsonFlag(argv), { from: 'user' })
    return Number(process.exitCode ?? exitCode.done)
  } catch (thrown) {
    if (isCommanderError(thrown) && thrown.exitCode === 0) return exitCode.done
    // Help that nobody asked for has been printed: a command name is missing.
    if (isCommanderError(thrown) && thrown.code === 'commander.help') return exitCode.usage
    const error = isCommanderError(thrown) ? toUsageError(thrown) : thrown
    const globalOptions = program.opts<GlobalOptions>()
    const failure = toFailure(error)
    reportFailure(context, failure, globalOptions)
    if (globalOptions.verbose && failure.exitCode === exitCode.unexpected)
      context.stderr.write(`${(error as Error).stack}\n`)
    return failure.exitCode
  }
}

/** `--json` alone takes no value: the next word is an argument. */
const normalizeJsonFlag = (argv: readonly string[]): string[] => {
  const end = argv.indexOf('--')
  return argv.map((one, i) => (one === '--json' && (end < 0 || i < end) ? '--json=' : one))
}

const isCommanderError = (error: unknown): error is CommanderError =>
  error instanceof Error && 'exitCode' in error && String((error as CommanderError).code).startsWith('commander.')

const toUsageError = ({ message }: CommanderError) =>
  new CliError(exitCode.usage, message.replace(/^error: /, ''), {
    code: 'usage',
    hint: 'Add --help to see what there is.',
  })
