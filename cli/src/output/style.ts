import { usageError } from '../exit.ts'
import type { CliContext } from '../world.ts'
import { paletteFor } from './color.ts'
import type { OutputStyle } from './render.ts'

/** The options every command takes. */
export interface GlobalOptions {
  profile?: string
  /** '' for all fields. */
  json?: string
  output?: 'table' | 'json' | 'ndjson' | 'csv'
  plain?: boolean
  quiet?: boolean
  verbose?: boolean
  wait?: boolean
}

/** A table for people, tab-separated lines for pipes, or what was asked for. */
export function resolveStyle(globalOptions: GlobalOptions, context: CliContext): OutputStyle {
  const { json, output, plain = false } = globalOptions
  const isTerminal = Boolean(context.stdout.isTTY)
  const requested = output ?? (json === undefined ? undefined : 'json')
  if (json !== undefined && requested === 'table') throw usageError('--json and --output table exclude each other.')
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

/** Whether a machine reads: failures are told as one JSON object then. */
export const isJsonOutput = ({ json, output }: GlobalOptions): boolean =>
  json !== undefined || output === 'json' || output === 'ndjson'
