import { type Command, Option } from 'commander'
import type { ExitCode } from './exit.ts'
import { Run } from './run.ts'
import type { CliContext } from './world.ts'

/** What a command is, beside its name and options: for help, reference and completion. */
export interface CommandMetadata {
  summary: string
  /** Why and how, for the reference; the summary is enough for most. */
  details?: string
  /** The schema of its JSON: a component of openapi.yaml, or one of schemas.json; with [] for a list. */
  output?: string
  /** It changes something, so it takes --dry-run. */
  writes?: boolean
  /** It needs the owner's token. */
  owner?: boolean
  examples?: readonly string[]
}

type CommandAction<Options> = (run: Run, input: { options: Options; args: string[] }) => Promise<ExitCode | undefined>

const metadataByCommand = new WeakMap<Command, CommandMetadata>()
const contexts = new WeakMap<Command, CliContext>()

export const metadataOf = (command: Command): CommandMetadata | undefined => metadataByCommand.get(command)

/** Where the commands of this tree run. */
export function attachContext(root: Command, context: CliContext): void {
  contexts.set(root, context)
}

const rootOf = (command: Command): Command => (command.parent ? rootOf(command.parent) : command)

/** A command that does something. What it imports for its work it imports when it works: the start stays quick. */
export function defineCommand<Options = Record<string, never>>(
  parent: Command,
  usage: string,
  facts: CommandMetadata & { action: CommandAction<Options> },
): Command {
  const command = parent.command(usage).description(facts.summary)
  const { action: work, ...told } = facts
  metadataByCommand.set(command, told)
  if (told.writes) command.addOption(new Option('--dry-run', 'show what would be done, and do nothing'))
  if (told.examples) command.addHelpText('after', `\nExamples:\n${told.examples.map((one) => `  $ ${one}`).join('\n')}`)
  return command.action(async () => {
    const context = contexts.get(rootOf(command))
    if (!context) throw new Error('This tree is for reading only.')
    const run = new Run(context, command.optsWithGlobals())
    const code = await work(run, { options: command.opts<Options & Record<string, unknown>>(), args: command.args })
    await run.flush()
    process.exitCode = code ?? 0
  })
}

/** A command that only holds others. */
export const defineGroup = (parent: Command, name: string, summary: string): Command =>
  parent.command(name).description(summary)

/** An option that may be given several times. */
export const repeatableOption = (flags: string, description: string): Option =>
  new Option(flags, description).argParser((value: string, all: string[] = []) => [...all, value])

export const choiceOption = (flags: string, description: string, choices: readonly string[]): Option =>
  new Option(flags, description).choices(choices)
