import { usage } from '../exit.ts'
import type { World } from '../world.ts'
import { paletteFor } from './color.ts'
import type { Style } from './render.ts'

/** The options every command takes. */
export interface Globals {
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
export function styleFor(globals: Globals, world: World): Style {
  const { json, output, plain = false } = globals
  const isTerminal = Boolean(world.stdout.isTTY)
  const asked = output ?? (json === undefined ? undefined : 'json')
  if (json !== undefined && asked === 'table') throw usage('--json and --output table exclude each other.')
  const fields = json
    ?.split(',')
    .map((field) => field.trim())
    .filter(Boolean)
  const inTabs = plain || !isTerminal
  return {
    format: asked === 'table' || asked === undefined ? (inTabs && asked !== 'table' ? 'plain' : 'table') : asked,
    fields: fields?.length ? fields : undefined,
    palette: paletteFor(world.env, { isTerminal, plain }),
    isTerminal,
  }
}

/** Whether a machine reads: failures are told as one JSON object then. */
export const isForMachines = ({ json, output }: Globals): boolean =>
  json !== undefined || output === 'json' || output === 'ndjson'
