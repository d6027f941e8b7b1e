import type { CliContext } from '../context.ts'
import { usageError } from '../errors.ts'
import { paletteFor } from './color.ts'
import type { OutputStyle } from './render.ts'

/** Options that every command accepts. */
export interface GlobalOptions {
  profile?: string
  /** Comma-separated fields, or '' for all. */
  json?: string
  output?: 'table' | 'json' | 'ndjson' | 'csv'
  plain?: boolean
  quiet?: boolean
  verbose?: boolean
  wait?: boolean
}

/** Resolves the output format: the requested one, else a table on a terminal and tab-separated lines in a pipe. */
export function resolveStyle(globalOptions: GlobalOptions, context: CliContext): OutputStyle {
  const { json, output, plain = false } = globalOptions
  const isTerminal = Boolean(context.stdout.isTTY)
  const requested = output ?? (json === undefined ? undefined : 'json')
  if (json !== undefined && requested === 'table') throw usageError('--json and --output table cannot be combined.')
  const fields = json
    ?.split(',')
    .map((field) => field.trim())
    .filter(Boolean)
  const inTabs = plain || !isTerminal
  return {
    format:
      requested === 'table' || requested === undefined
        ? inTabs && requested !== 'table'
          ? 'plain'
          : 'table'
        : requested,
    fields: fields?.length ? fields : undefined,
    palette: paletteFor(context.env, { isTerminal, plain }),
    isTerminal,
  }
}

/** Whether failures are printed as one JSON object. */
export const isJsonOutput = ({ json, output }: GlobalOptions): boolean =>
  json !== undefined || output === 'json' || output === 'ndjson'
