import type { Command } from 'commander'
import { describeCommands, describeGroups, describeOption } from '../tree.ts'

export interface Suggestion {
  word: string
  hint: string
}

/** What may follow these words. */
export interface CompletionPoint {
  /** The words so far: `payouts pay`; empty at the start. */
  path: string
  suggestions: Suggestion[]
  options: (Suggestion & { choices: readonly string[]; takesFile: boolean; takesValue: boolean })[]
}

/** Every place a completion can stand at, made from the command tree. */
export function completionPoints(program: Command): CompletionPoint[] {
  const globals = program.options.flatMap((option) => toOptions(describeOption(option)))
  const groups = describeGroups(program).map(({ words, children }): CompletionPoint => {
    const names = children.map(({ name, summary }) => ({ word: name, hint: summary }))
    return {
      path: words,
      suggestions: words ? names : [...names, { word: 'help', hint: 'show help of a command' }],
      options: globals,
    }
  })
  const leaves = describeCommands(program).map((command): CompletionPoint => {
    const words = command.arguments.flatMap(({ choices }) => choices.map((word) => ({ word, hint: '' })))
    return { path: command.command, suggestions: words, options: [...command.options.flatMap(toOptions), ...globals] }
  })
  return [...groups, ...leaves]
}

/** `-o, --output <format>` is two words to complete. */
const toOptions = ({ flags, description, ...facts }: ReturnType<typeof describeOption>): CompletionPoint['options'] =>
  [...flags.matchAll(/(?<![\w-])--?[A-Za-z][\w-]*/g)].map(([word]) => ({ word, hint: description, ...facts }))
