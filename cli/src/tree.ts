import type { Command, Option } from 'commander'
import { type CommandMetadata, metadataOf } from './command.ts'

/** A command as reference and completions see it. */
export interface CommandInfo extends Omit<CommandMetadata, 'examples'> {
  /** All of its words: `payouts pay`. */
  command: string
  /** With its arguments: `payouts pay <id>`. */
  usage: string
  arguments: { name: string; choices: readonly string[] }[]
  options: { flags: string; description: string; choices: readonly string[]; takesValue: boolean; takesFile: boolean }[]
  examples: readonly string[]
}

/** Every command that does something, in the order of the tree. */
export function describeCommands(program: Command): CommandInfo[] {
  const found: CommandInfo[] = []
  const walk = (command: Command, words: readonly string[]) => {
    const facts = metadataOf(command)
    if (facts) found.push(describe(command, words, facts))
    for (const child of command.commands) walk(child, [...words, child.name()])
  }
  walk(program, [])
  return found
}

function describe(command: Command, words: readonly string[], facts: CommandMetadata): CommandInfo {
  const named = command.registeredArguments.map((argument) => {
    const name = argument.name() + (argument.variadic ? '...' : '')
    return argument.required ? `<${name}>` : `[${name}]`
  })
  return {
    ...facts,
    command: words.join(' '),
    usage: [...words, ...named].join(' '),
    arguments: command.registeredArguments.map((one) => ({ name: one.name(), choices: one.argChoices ?? [] })),
    options: command.options.map(describeOption),
    examples: facts.examples ?? [],
  }
}

export function describeOption(option: Option): CommandInfo['options'][number] {
  const usual =
    option.defaultValue === undefined || option.defaultValue === false ? '' : ` (default: ${option.defaultValue})`
  return {
    flags: option.flags,
    description: `${option.description}${usual}${option.mandatory ? ' (required)' : ''}`,
    choices: option.argChoices ?? [],
    takesValue: option.required || option.optional,
    takesFile: /<(file|folder)>/.test(option.flags),
  }
}

/** The words that open a menu of others, with what follows. */
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
