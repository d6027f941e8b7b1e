import type { Command } from 'commander'
import { usageError } from '../exit.ts'
import { bash } from './bash.ts'
import { fish } from './fish.ts'
import { completionPoints } from './model.ts'
import { powershell } from './powershell.ts'
import { zsh } from './zsh.ts'

const shells = { bash, zsh, fish, powershell }

/** The script of a shell, made from the commands that there are. */
export function completionFor(program: Command, shell: string): string {
  const render = Object.hasOwn(shells, shell) ? shells[shell as keyof typeof shells] : undefined
  if (!render) throw usageError(`There is no completion for ${shell}; there is for ${Object.keys(shells).join(', ')}.`)
  return render(completionPoints(program))
}
