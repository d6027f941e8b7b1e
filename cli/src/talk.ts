import type { Failure } from './failure.ts'
import { type Palette, paletteFor } from './output/color.ts'
import { type Globals, isForMachines } from './output/style.ts'
import { plainText, toJson } from './output/text.ts'
import type { World } from './world.ts'

/** Everything that is said and is no data: it goes to standard error. */
export class Talk {
  readonly palette: Palette
  readonly isTerminal: boolean
  readonly #world: World
  readonly #isQuiet: boolean

  constructor(world: World, { plain = false, quiet = false }: Globals) {
    this.#world = world
    this.#isQuiet = quiet
    this.isTerminal = Boolean(world.stderr.isTTY)
    this.palette = paletteFor(world.env, { isTerminal: this.isTerminal, plain })
  }

  note(message: string): void {
    if (!this.#isQuiet) this.#world.stderr.write(`${plainText(message)}\n`)
  }

  warn(message: string): void {
    this.#world.stderr.write(`${this.palette.yellow('warning:')} ${plainText(message)}\n`)
  }

  /** As it is, quiet or not: tables that precede a question. The caller has made its text harmless. */
  show(text: string): void {
    this.#world.stderr.write(text)
  }
}

/** A failure on standard error: one object for machines, else lines for people. */
export function tellFailure(world: World, failure: Failure, globals: Globals): void {
  const { exit: _, ...told } = failure
  if (isForMachines(globals)) {
    world.stderr.write(`${toJson(told)}\n`)
    return
  }
  const palette = paletteFor(world.env, { isTerminal: Boolean(world.stderr.isTTY), plain: globals.plain ?? false })
  world.stderr.write(`${palette.red('error:')} ${plainText(failure.message)}\n`)
  if (failure.hint) world.stderr.write(`${palette.dim('hint:')} ${plainText(failure.hint)}\n`)
  if (failure.requestId) world.stderr.write(`${palette.dim(`request id: ${plainText(failure.requestId)}`)}\n`)
}
