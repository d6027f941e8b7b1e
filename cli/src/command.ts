import { type Command, Option } from 'commander'
import type { CliContext } from './context.ts'
import { type ExitCode, exitCode } from './errors.ts'
import { Run } from './run.ts'

/** What help, the reference, and shell completion show about a command, besides its name and options. */
export interface CommandMetadata {
  summary: string
  /** A longer description for the reference. */
  details?: string
  /** The schema of its JSON output: a component of openapi.yaml or of schemas.json; with [] for a list. */
  output?: string
  /** Whether it changes something. Such a command takes --dry-run. */
  writes?: boolean
  /** Whether it requires an owner token. */
  owner?: boolean
  /** Whether it changes or reads a whole batch or month at once, which can take minutes. */
  isLong?: boolean
  examples?: readonly string[]
}

type CommandAction<Options> = (run: Run, input: { options: Options; args: string[] }) => Promise<ExitCode | undefined>

const metadataByCommand = new WeakMap<Command, CommandMetadata>()
const contextByRoot = new WeakMap<Command, CliContext>()
const exitCodeByRoot = new WeakMap<Command, ExitCode>()
const runningByRoot = new WeakMap<Command, Command>()

export const metadataOf = (command: Command): CommandMetadata | undefined => metadataByCommand.get(command)

/** Sets the context in which the commands of this tree run. */
export function attachContext(root: Command, context: CliContext): void {
  contextByRoot.set(root, context)
}

/** The exit code of the command that ran in this tree. */
export const exitCodeOf = (root: Command): ExitCode => exitCodeByRoot.get(root) ?? exitCode.done

/** The command that ran in this tree, or undefined when the arguments were rejected. */
export const commandOf = (root: Command): Command | undefined => runningByRoot.get(root)

const rootOf = (command: Command): Command => (command.parent ? rootOf(command.parent) : command)

/** Adds a command with an action. The action imports its dependencies lazily, which keeps startup fast. */
export function defineCommand<Options = Record<string, never>>(
  parent: Command,
  usage: string,
  { action, ...metadata }: CommandMetadata & { action: CommandAction<Options> },
): Command {
  const { summary, writes, examples } = metadata
  const command = parent.command(usage).description(summary)
  metadataByCommand.set(command, metadata)
  if (writes) command.addOption(new Option('--dry-run', 'show what would be done without doing it'))
  if (examples) command.addHelpText('after', `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`)
  return command.action(async () => {
    const root = rootOf(command)
    runningByRoot.set(root, command)
    const context = contextByRoot.get(root)
    if (!context) throw new Error('This command tree has no context and cannot run commands.')
    const run = new Run(context, command.optsWithGlobals(), metadata.isLong)
    const code = await action(run, { options: command.opts<Options & Record<string, unknown>>(), args: command.args })
    await run.flush()
    if (code !== undefined) exitCodeByRoot.set(root, code)
  })
}

/** Adds a command that only contains subcommands. */
export const defineGroup = (parent: Command, name: string, summary: string): Command =>
  parent.command(name).description(summary)
