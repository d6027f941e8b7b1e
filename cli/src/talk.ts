import type { Failure } from './failure.ts'
import { type Palette, paletteFor } from './output/color.ts'
import { type GlobalOptions, isJsonOutput } from './output/style.ts'
import { sanitizeText, toJson } from './output/text.ts'
import type { CliContext } from './world.ts'

/** Everything that is said and is no data: it goes to standard error. */
export class Reporter {
  readonly palette: Palette
  readonly isTerminal: boolean
  readonly #context: CliContext
  readonly #isQuiet: boolean

  constructor(context: CliContext, { plain = false, quiet = false }: GlobalOptions) {
    this.#context = context
    this.#isQuiet = quiet
    this.isTerminal = Boolean(context.stderr.isTTY)
    this.palette = paletteFor(context.env, { isTerminal: this.isTerminal, plain })
  }

  info(message: string): void {
    if (!this.#isQuiet) this.#context.stderr.write(`${sanitizeText(message)}\n`)
  }

  warn(message: string): void {
    this.#context.stderr.write(`${this.palette.yellow('warning:')} ${sanitizeText(message)}\n`)
  }

  /** As it is, quiet or not: tables that precede a question. The caller has made its text harmless. */
  write(text: string): void {
    this.#context.stderr.write(text)
  }
}

/** A failure on standard error: one object for machines, else lines for people. */
export function reportFailure(context: CliContext, failure: Failure, globals: GlobalOptions): void {
  const { exitCode: _, ...told } = failure
  if (isJsonOutput(globals)) {
    context.stderr.write(`${toJson(told)}\n`)
    return
  }
  const palette = paletteFor(context.env, { isTerminal: Boolean(context.stderr.isTTY), plain: globals.plain ?? false })
  context.stderr.write(`${palette.red('error:')} ${sanitizeText(failure.message)}\n`)
  if (failure.hint) context.stderr.write(`${palette.dim('hint:')} ${sanitizeText(failure.hint)}\n`)
  if (failure.requestId) context.stderr.write(`${palette.dim(`request id: ${sanitizeText(failure.requestId)}`)}\n`)
}
