import type { Command, Option } from 'commander'
import { type CommandMetadata, metadataOf } from './command.ts'

/** A command as the reference and the completion scripts describe it. */
export interface CommandInfo extends Omit<CommandMetadata, 'examples'> {
  /** The full command, such as `payouts pay`. */
  command: string
  /** The command with its arguments, such as `payouts pay <id>`. */
  usage: string
  arguments: { name: string; choices: readonly string[] }[]
  options: { flags: string; description: string; choices: readonly string[]; takesValue: boolean; takesFile: boolean }[]
  examples: readonly string[]
}

/** Describes every command that has an action, in the order of the tree. */
export function describeCommands(program: Command): CommandInfo[] {
  const commands: CommandInfo[] = []
  const walk = (command: Command, words: readonly string[]) => {
    const metadata = metadataOf(command)
    if (metadata) commands.push(describe(command, words, metadata))
    for (const child of command.commands) walk(child, [...words, child.name()])
  }
  walk(program, [])
  return commands
}

function describe(command: Command, words: readonly string[], metadata: CommandMetadata): CommandInfo {
  const placeholders = command.registeredArguments.map((argument) => {
    const name = argument.name() + (argument.variadic ? '...' : '')
    return argument.required ? `<${name}>` : `[${name}]`
  })
  return {
    ...metadata,
    command: words.join(' '),
    usage: [...words, ...placeholders].join(' '),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      choices: argument.argChoices ?? [],
    })),
    options: command.options.map(describeOption),
    examples: metadata.examples ?? [],
  }
}

export function describeOption(option: Option): CommandInfo['options'][number] {
  const suffix =
    option.defaultValue === undefined || option.defaultValue === false ? '' : ` (default: ${option.defaultValue})`
  return {
    flags: option.flags,
    description: `${option.description}${suffix}${option.mandatory ? ' (required)' : ''}`,
    choices: option.argChoices ?? [],
    takesValue: option.required || option.optional,
    takesFile: /<(file|folder)>/.test(option.flags),
  }
}

/** Describes every command that has subcommands. */
export function describeGroups(program: Command): { words: string; children: { name: string; summary: string }[] }[] {
  const groups: { words: string; children: { name: string; summary: string }[] }[] = []
  const walk = (command: Command, words: readonly string[]) => {
    if (command.commands.length === 0) return
    const children = command.commands.map((child) => ({ name: child.name(), summary: child.description() }))
    groups.push({ words: words.join(' '), children })
    for (const child of command.commands) walk(child, [...words, child.name()])
  }
  walk(program, [])
  return groups
}
