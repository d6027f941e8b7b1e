import { setImmediate as breathe } from 'node:timers/promises'
import { invalid, invalidBody } from '../contract/errors.ts'
import type { Selection } from '../contract/selection.ts'
import { selectJson } from './select-json.ts'

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

/** How large a JSON text is but for its length: what its reader would have to build. */
export interface JsonShape {
  depth: number
  /** Lists, objects and what they hold. */
  values: number
  /** Of the object that has most. */
  properties: number
}

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const OPENING_LIST = 0x5b
const CLOSING_LIST = 0x5d
const OPENING_OBJECT = 0x7b
const CLOSING_OBJECT = 0x7d

/**
 * Looks through the bytes of a JSON text once, before anything is built of them; it stops where the bounds are passed.
 * Of what is no JSON it tells something, and the reader refuses it then.
 */
export function shapeOf(bytes: Uint8Array, bounds: JsonShape): JsonShape {
  let depth = 0
  let deepest = 0
  let values = 1
  let properties = 0
  // Of each object that is open; a list has none.
  const open: number[] = []
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) at = endOfText(bytes, at)
    else if (byte === COMMA) {
      values++
      const here = ++open[depth]!
      if (here > properties) properties = here
    } else if (byte === OPENING_LIST || byte === OPENING_OBJECT) {
      values++
      depth++
      if (depth > deepest) deepest = depth
      if (deepest > bounds.depth) break
      open[depth] = byte === OPENING_OBJECT ? 1 : Number.NEGATIVE_INFINITY
    } else if (byte === CLOSING_LIST || byte === CLOSING_OBJECT) depth--
    if (values > bounds.values || properties > bounds.properties) break
  }
  return { depth: deepest, values, properties }
}

/** Where the text ends that begins here. */
function endOfText(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) return at
    if (byte === BACKSLASH) at++
  }
  return bytes.length
}
