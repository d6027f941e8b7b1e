import type { Command } from 'commander'
import { describeOption, describeTree, groupsOf } from '../tree.ts'

export interface Word {
  word: string
  hint: string
}

/** What may follow these words. */
export interface Place {
  /** The words so far: `payouts pay`; empty at the start. */
  path: string
  words: Word[]
  options: (Word & { choices: readonly string[]; takesFile: boolean; takesValue: boolean })[]
}

/** Every place a completion can stand at, made from the command tree. */
export function placesOf(program: Command): Place[] {
  const globals = program.options.flatMap((option) => toOptions(describeOption(option)))
  const groups = groupsOf(program).map(({ words, children }): Place => {
    const names = children.map(({ name, summary }) => ({ word: name, hint: summary }))
    return {
      path: words,
      words: words ? names : [...names, { word: 'help', hint: 'show help of a command' }],
      options: globals,
    }
  })
  const leaves = describeTree(program).map((command): Place => {
    const words = command.arguments.flatMap(({ choices }) => choices.map((word) => ({ word, hint: '' })))
    return { path: command.command, words, options: [...command.options.flatMap(toOptions), ...globals] }
  })
  return [...groups, ...leaves]
}

/** `-o, --output <format>` is two words to complete. */
const toOptions = ({ flags, description, ...facts }: ReturnType<typeof describeOption>): Place['options'] =>
  [...flags.matchAll(/(?<![\w-])--?[A-Za-z][\w-]*/g)].map(([word]) => ({ word, hint: description, ...facts }))
