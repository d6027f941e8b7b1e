import type { CommanderError } from 'commander'
import { commandOf, exitCodeOf } from './command.ts'
import type { CliContext } from './context.ts'
import { CliError, exitCode, toFailure } from './errors.ts'
import { nameOptions } from './option-names.ts'
import type { GlobalOptions } from './output/style.ts'
import { createProgram } from './program.ts'
import { reportFailure } from './reporter.ts'
import { rejectSecretArguments } from './secrets.ts'

/** Runs one command and returns the exit code. */
export async function runCli(context: CliContext, argv: readonly string[]): Promise<number> {
  // If options precede the command, argv[0] is not its name, and the whole tree is loaded.
  const program = await createProgram(context, argv[0])
  try {
    rejectSecretArguments(argv)
    await program.parseAsync(normalizeJsonFlag(argv), { from: 'user' })
    return exitCodeOf(program)
  } catch (thrown) {
    if (isCommanderError(thrown) && thrown.exitCode === 0) return exitCode.done
    // The command name is missing: commander has printed the help.
    if (isCommanderError(thrown) && thrown.code === 'commander.help') return exitCode.usage
    const error = isCommanderError(thrown) ? toUsageError(thrown, argv) : thrown
    const options = program.opts<GlobalOptions>()
    const failure = toFailure(error)
    const command = commandOf(program)
    if (command && failure.status === 400) failure.message = nameOptions(failure.message, command)
    reportFailure(context, failure, options)
    if (options.verbose && failure.exitCode === exitCode.unexpected) context.stderr.write(`${(error as Error).stack}\n`)
    return failure.exitCode
  }
}

/** Gives a bare `--json` an empty value, so that the next word stays an argument. */
const normalizeJsonFlag = (argv: readonly string[]): string[] => {
  const end = argv.indexOf('--')
  return argv.map((word, i) => (word === '--json' && (end < 0 || i < end) ? '--json=' : word))
}

const isCommanderError = (error: unknown): error is CommanderError =>
  error instanceof Error && 'exitCode' in error && String((error as CommanderError).code).startsWith('commander.')

/** Never suggests an option that turns off a protection: `--secret` is not a typo of `--no-secret`. */
const withoutRiskySuggestion = (message: string) =>
  message.startsWith("unknown option '--no-")
    ? message
    : message.replace(/\n\(Did you mean .*--(no-|force|yes).*\)$/, '')

const toUsageError = ({ code, message }: CommanderError, argv: readonly string[]) => {
  const isFileMissing = code === 'commander.missingArgument' && argv.join(' ').includes('events import')
  const isSecret = code === 'commander.unknownOption' && /^error: unknown option '--secret\b/.test(message)
  const hint = isFileMissing
    ? 'Pass a CSV file, or - to read standard input.'
    : isSecret
      ? 'Secrets are never arguments. Use --secret-stdin or --secret-file.'
      : 'Add --help for usage.'
  return new CliError(exitCode.usage, withoutRiskySuggestion(message.replace(/^error: /, '')), { code: 'usage', hint })
}
