import type { CliContext } from './context.ts'
import type { Failure } from './errors.ts'
import { type Palette, paletteFor } from './output/color.ts'
import { type GlobalOptions, isJsonOutput } from './output/style.ts'
import { sanitizeText, toJson } from './output/text.ts'

/** Writes messages, as opposed to data, to standard error. */
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

  /** Writes text unchanged, even with `--quiet`, such as the table before a prompt. The caller sanitizes it. */
  write(text: string): void {
    this.#context.stderr.write(text)
  }
}

/** Prints a failure to standard error: one JSON object with `--json`, otherwise lines of text. */
export function reportFailure(context: CliContext, failure: Failure, options: GlobalOptions): void {
  const { exitCode: _, ...printed } = failure
  if (isJsonOutput(options)) {
    context.stderr.write(`${toJson(printed)}\n`)
    return
  }
  const isTerminal = Boolean(context.stderr.isTTY)
  const palette = paletteFor(context.env, { isTerminal, plain: options.plain ?? false })
  context.stderr.write(`${palette.red('error:')} ${sanitizeText(failure.message)}\n`)
  if (failure.hint) context.stderr.write(`${palette.dim('hint:')} ${sanitizeText(failure.hint)}\n`)
  if (failure.requestId) context.stderr.write(`${palette.dim(`request id: ${sanitizeText(failure.requestId)}`)}\n`)
}
