import { setImmediate as breathe } from 'node:timers/promises'
import { invalid, invalidBody } from '../errors.ts'
import { selectJson } from './json-select.ts'
import type { Selection } from './json-selection.ts'
import { shapeOf } from './json-shape.ts'

/** Section 8 leaves the size open; 1 MiB holds any order. */
const MIB = 1024 * 1024
export const MAX_BODY_BYTES = MIB
/** A store sends everything it knows of an order, line by line. */
export const MAX_NOTIFICATION_BYTES = 4 * MIB
const MAX_DEPTH = 32
/** An order of 1,000 lines of which 60 things are told, most of which nobody here asks for. */
const MAX_VALUES = 65_000
/** Of one object. What is named once for all takes longest to read. */
const MAX_PROPERTIES = 500
/** 1,000 lines with 17 taxes each. */
const MAX_NOTIFICATION_VALUES = 40_000
/** What takes several milliseconds to validate. */
export const LARGE = 64 * 1024

/**
 * A body as JSON, whatever its content type says: the bytes decide. No body reads as an empty object.
 *
 * @throws ApiError 400 `invalid_json`, or `invalid_body` for what cannot be stored.
 */
export function parseJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return {}
  refuseUnwieldy(bytes)
  return parse(bytes)
}

/**
 * As {@link parseJson}, of which only what the selection names is read.
 *
 * @throws ApiError 400 `invalid_json` or `invalid_body`.
 */
export async function parseSelected(bytes: Uint8Array, selection: Selection): Promise<unknown> {
  if (bytes.length === 0) return {}
  const selected = await selectJson(bytes, selection, MAX_NOTIFICATION_VALUES)
  const value = parse(selected)
  // Others have a turn before so much is validated.
  if (selected.length > LARGE) await breathe()
  return value
}

function parse(bytes: Uint8Array): unknown {
  let value: unknown
  let isPlain: boolean
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    isPlain = !UNSTORABLE.test(text)
    value = JSON.parse(text)
  } catch {
    throw invalid('invalid_json', 'The body is not valid JSON.')
  }
  if (!isPlain) refuseUnstorable(value)
  return value
}

// In text that is UTF-8, only escapes can make what cannot be stored. Looking for them costs less than walking through all.
const UNSTORABLE = /\\u(0000|d[89a-f])/i

/** What takes long to read would hold up everybody else's requests. */
function refuseUnwieldy(bytes: Uint8Array): void {
  const { depth, values, properties } = shapeOf(bytes, {
    depth: MAX_DEPTH,
    values: MAX_VALUES,
    properties: MAX_PROPERTIES,
  })
  if (depth > MAX_DEPTH) throw invalidBody(`The body must not be nested more than ${MAX_DEPTH} levels deep.`)
  if (values > MAX_VALUES) throw invalidBody(`The body must not hold more than ${MAX_VALUES} values.`)
  if (properties > MAX_PROPERTIES) {
    throw invalidBody(`No object of the body may have more than ${MAX_PROPERTIES} properties.`)
  }
}

/** Text that a database cannot keep as it was sent is refused rather than changed. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** A name from outside; what nothing can be named by is made to match nothing. */
export const nameable = (text: string): string => (isStorable(text) ? text : '?')

function refuseUnstorable(value: unknown): void {
  if (typeof value === 'string') {
    if (!isStorable(value)) throw invalidBody('Text must not hold the character U+0000 or half a surrogate pair.')
    return
  }
  if (value === null || typeof value !== 'object') return
  for (const [key, inner] of Object.entries(value)) {
    refuseUnstorable(key)
    refuseUnstorable(inner)
  }
}

/** One text for all ways to write the same JSON: keys sorted, no white space. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`).join(',')}}`
}
