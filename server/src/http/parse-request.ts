import { randomInt } from 'node:crypto'
import type { Context as HonoContext } from 'hono'
import { deref, type Schema } from '../contract/document.ts'
import { invalid, invalidBody, invalidField, unstorableText } from '../contract/errors.ts'
import { documentedName, type Selection, selectionOf } from '../contract/selection.ts'
import type { Input, Operation, OperationId } from '../contract/spec.ts'
import { isStorable } from '../database/database.ts'
import { yieldToEventLoop } from '../database/event-loop.ts'

/**
 * Converts query text to the document's types: numeric text becomes a number, anything else is left to the validator.
 * Undocumented parameters are dropped. A write is rejected if it misspells one or would write despite `dryRun`.
 */
function readQuery({ method, queryParameters: parameters }: Operation, search: URLSearchParams) {
  const query: Record<string, unknown> = {}
  for (const { name, schema } of parameters) {
    const values = search.getAll(name)
    const [first] = values
    if (first === undefined) continue
    if (values.length > 1) throw invalidField('invalid_parameter', name, `must be sent only once.`)
    if (!isStorable(first)) throw invalidField('invalid_parameter', name, `must not contain the character U+0000.`)
    query[name] = coerce(deref(schema), first)
  }
  if (method !== 'GET' && search.size > Object.keys(query).length) {
    const selection = selectionOf({
      properties: Object.fromEntries(parameters.map(({ name, schema }) => [name, schema])),
    })
    for (const key of search.keys()) {
      // Some serializers write `dryRun[]=1`.
      const name = key.replace(/\[\d*\]$/, '')
      if (key in query) continue
      rejectMisspelled(`.${name}`, name, selection, 'parameter')
      rejectDryRun(name, 'parameter')
    }
  }
  return query
}

const DRY_RUN = selectionOf({ properties: { dryRun: {} } })

/** If it were ignored, the request would write. */
function rejectDryRun(name: string, kind: keyof typeof CODES): void {
  if (!documentedName(DRY_RUN, name)) return
  const elsewhere = { parameter: 'body', property: 'URL' }[kind]
  throw invalidField(CODES[kind], 'dryRun', `is not a ${kind} of this request. See whether its ${elsewhere} has it.`)
}

function coerce({ type, format }: Schema, text: string): unknown {
  // An unencoded plus sign arrives as a space.
  if (format === 'instant') return text.replace(/ (?=\d\d:\d\d$)/, '+')
  const isNumber = type === 'integer' || type === 'number'
  return isNumber && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

/** Parses the query alone, which is faster than parsing the whole URL. */
function searchParamsOf(url: string): URLSearchParams {
  const [address = ''] = url.split('#', 1)
  const start = address.indexOf('?')
  return new URLSearchParams(start < 0 ? '' : address.slice(start + 1))
}

/** Text to look up in the database. Text that cannot be stored becomes `?`, which matches no row. */
export const toLookupText = (text: string): string => (isStorable(text) ? text : '?')

/** @throws ApiError 400 for a parameter that does not match the document. */
export function readParameters<Id extends OperationId>(op: Operation<Id>, c: HonoContext): Omit<Input<Id>, 'body'> {
  const { queryParameters, pathParameters, headerParameters } = op
  return {
    query: op.readQuery(
      queryParameters.length > 0 || op.method !== 'GET' ? readQuery(op, searchParamsOf(c.req.url)) : {},
    ),
    path: op.readPath(pathParameters.length > 0 ? pathParametersOf(c) : {}),
    headers: op.readHeaders(headerParameters.length > 0 ? headersOf(op, c) : {}),
  }
}

const headersOf = ({ headerParameters }: Operation, c: HonoContext): Record<string, string | undefined> =>
  Object.fromEntries(headerParameters.map(({ name }) => [name, c.req.header(name)]))

export const pathParametersOf = (c: HonoContext): Record<string, string> =>
  Object.fromEntries(Object.entries<string>(c.req.param()).map(([name, text]) => [name, toLookupText(text)]))

const MIB = 1024 * 1024
/** Fits an order of 1,000 lines. */
export const MAX_BODY_BYTES = MIB
/** Store notifications contain the whole order, not only the documented properties. */
export const MAX_NOTIFICATION_BYTES = 4 * MIB
/** Larger bodies take several milliseconds to parse and to validate. */
export const LARGE_BODY_BYTES = 64 * 1024

/** Limits that bound the time of `JSON.parse`. See decision 3. */
interface JsonLimits {
  depth: number
  /** Counts arrays, objects, and everything in them. */
  values: number
}

/** 65,000 values fit an order of 1,000 lines with 60 properties each. */
const BODY_LIMITS: JsonLimits = { depth: 32, values: 65_000 }
const NOTIFICATION_LIMITS: JsonLimits = { depth: 64, values: 150_000 }
/** A new name takes a hundred times as long as a known one. */
const MAX_NAMES = 5000

export interface ParsedBody {
  /** The whole JSON. */
  all: unknown
  /** The selected properties, plus the first unknown property of each object that allows none. */
  value: unknown
  /** Paths of the first unknown properties of objects that allow them, like `lineItems[].color`. */
  ignored: string[]
}

/**
 * Parses a body as JSON, whatever its content type. An empty body is an empty object.
 *
 * @throws ApiError 400 `invalid_json`, `unknown_property` for a misspelled one where unknown ones are ignored, or
 *   `invalid_body` beyond the limits and for text that cannot be stored.
 */
export async function parseBody(bytes: Uint8Array, selection: Selection): Promise<ParsedBody> {
  if (bytes.length === 0) return { all: {}, value: {}, ignored: [] }
  const { text, properties } = await readText(bytes, BODY_LIMITS)
  const all = parse(text)
  if (countProperties(all) < properties)
    throw invalidBody('The request body must not contain an object with the same property twice.')
  if (UNSTORABLE.test(text)) rejectUnstorable(all)
  if (bytes.length > LARGE_BODY_BYTES) await yieldToEventLoop()
  const ignored = new IgnoredNames()
  const value = select(all, selection, ignored)
  if (bytes.length > LARGE_BODY_BYTES) await yieldToEventLoop()
  return { all, value, ignored: ignored.paths }
}

/**
 * Parses a store's notification. Only the selected properties must be storable. Integers that a number cannot represent
 * become text.
 *
 * @throws ApiError 400 `invalid_json` or `invalid_body`.
 */
export async function parseNotification(bytes: Uint8Array, selection: Selection): Promise<ParsedBody> {
  if (bytes.length === 0) return { all: {}, value: {}, ignored: [] }
  const { text } = await readText(bytes, NOTIFICATION_LIMITS)
  const exact = /\d{16}/.test(text) ? text.replace(TEXT_OR_LONG_INTEGER, quoteUnsafe) : text
  if (bytes.length > LARGE_BODY_BYTES) await yieldToEventLoop()
  const all = parse(exact)
  if (bytes.length > LARGE_BODY_BYTES) await yieldToEventLoop()
  const value = select(all, selection)
  if (UNSTORABLE.test(text)) rejectUnstorable(value)
  return { all, value, ignored: [] }
}

const TEXT_OR_LONG_INTEGER = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g
const quoteUnsafe = (token: string) => (token[0] === '"' || Number.isSafeInteger(Number(token)) ? token : `"${token}"`)

/** Decodes text that `JSON.parse` can read quickly, and rejects other text. */
async function readText(bytes: Uint8Array, limits: JsonLimits): Promise<{ text: string; properties: number }> {
  const properties = checkLimits(bytes, limits)
  if (bytes.length > LARGE_BODY_BYTES) await yieldToEventLoop()
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), properties }
  } catch {
    throw malformed()
  }
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPENING_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSING_LIST = 0x5d
const OPENING_OBJECT = 0x7b
const CLOSING_OBJECT = 0x7d
/** Random, so that nobody can choose names with colliding hashes. */
const HASH_FACTOR = randomInt(2 ** 30) * 2 + 1

/**
 * Counts a JSON text's levels, values, and distinct names in one pass, whether it is valid or not. Returns the number
 * of properties.
 */
function checkLimits(bytes: Uint8Array, limits: JsonLimits): number {
  const names = new Set<number>()
  let [at, depth, values, properties, hash] = [0, 0, 1, 0, 0]
  while (at < bytes.length) {
    const byte = bytes[at++]
    if (byte === QUOTE) {
      hash = 0
      for (let inner = bytes[at++]; inner !== QUOTE && inner !== undefined; inner = bytes[at++]) {
        if (inner === BACKSLASH) hash = Math.imul(hash + bytes[at++]!, HASH_FACTOR)
        hash = Math.imul(hash + inner, HASH_FACTOR)
      }
    } else if (byte === COMMA) values++
    else if (byte === COLON) {
      properties++
      names.add(hash)
    } else if (byte === OPENING_LIST || byte === OPENING_OBJECT) {
      values++
      if (++depth > limits.depth)
        throw invalidBody(`The request body must not be nested more than ${limits.depth} levels deep.`)
    } else if (byte === CLOSING_LIST || byte === CLOSING_OBJECT) depth--
    if (values > limits.values)
      throw invalidBody(`The request body must not contain more than ${limits.values} values.`)
    if (names.size > MAX_NAMES)
      throw invalidBody(`The request body must not contain more than ${MAX_NAMES} different property names.`)
  }
  return properties
}

/**
 * Counts properties after parsing: `JSON.parse` keeps only one of two with the same name. Loops are seven times as fast
 * as `reduce` here.
 */
function countProperties(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0
  let count = 0
  if (Array.isArray(value)) for (const item of value) count += countProperties(item)
  else for (const name in value) count += 1 + countProperties((value as Record<string, unknown>)[name])
  return count
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw malformed()
  }
}

const malformed = () => invalid('invalid_json', 'The request body is not valid JSON.')

/** Keeps the selected properties. An array or object in place of a scalar stays empty. */
function select(value: unknown, selection: Selection, ignored?: IgnoredNames, path = ''): unknown {
  const { byName, others, isClosed, items, maxItems } = selection
  if (Array.isArray(value))
    return items ? value.slice(0, maxItems).map((item) => select(item, items, ignored, `${path}[]`)) : []
  if (value === null || typeof value !== 'object') return value
  const selected: [string, unknown][] = []
  let hasUnknown = false
  for (const [name, inner] of Object.entries(value)) {
    const known = byName?.get(name) ?? others
    if (known) selected.push([name, select(inner, known, ignored, `${path}.${name}`)])
    else if (isClosed && !hasUnknown) {
      hasUnknown = true
      if (ignored) rejectMisspelled(`${path}.${name}`, name, selection)
      selected.push([name, select(inner, SCALAR)])
    } else if (byName && !isClosed) ignored?.add(`${path}.${name}`, name, selection)
  }
  return Object.fromEntries(selected)
}

const SCALAR: Selection = { maxItems: 0 }

/** Enough to find a mistake. */
const MAX_IGNORED = 20
const MAX_PATH_LENGTH = 100

class IgnoredNames {
  readonly #paths = new Set<string>()

  get paths(): string[] {
    return [...this.#paths]
  }

  /** @throws ApiError 400 `unknown_property` for a misspelled name. */
  add(at: string, name: string, selection: Selection): void {
    const path = pathOf(at)
    if (this.#paths.has(path)) return
    rejectMisspelled(at, name, selection)
    if (path === name) rejectDryRun(name, 'property')
    if (this.#paths.size < MAX_IGNORED) this.#paths.add(path)
  }
}

const pathOf = (at: string): string => at.slice(1, MAX_PATH_LENGTH).toWellFormed()

function rejectMisspelled(at: string, name: string, selection: Selection, kind: keyof typeof CODES = 'property'): void {
  const documented = documentedName(selection, name)
  if (!documented) return
  const shownPath = pathOf(at).replaceAll(/[\p{Cc}\p{Cf}]/gu, '?')
  throw invalid(CODES[kind], `${shownPath} is not a ${kind} of this request. Its name is ${documented}.`)
}

const CODES = { property: 'unknown_property', parameter: 'invalid_parameter' } as const

// In valid UTF-8, only escapes can encode characters that cannot be stored. Finding them is cheaper than checking every
// value.
const UNSTORABLE = /\\u(0000|d[89a-f])/i

function rejectUnstorable(value: unknown): void {
  if (typeof value === 'string') {
    if (!isStorable(value)) throw unstorableText()
    return
  }
  if (value === null || typeof value !== 'object') return
  for (const [key, inner] of Object.entries(value)) {
    rejectUnstorable(key)
    rejectUnstorable(inner)
  }
}

/** Serializes JSON with sorted keys and no whitespace, so that equal values give equal text. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const names = Object.keys(value).sort()
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson((value as Record<string, unknown>)[name])}`).join(',')}}`
}

let lastTurn: Promise<unknown> = Promise.resolve()

/**
 * Processes large bodies one at a time. Otherwise, all of them would continue at once after each yield to other
 * requests.
 */
export function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const turn = lastTurn.then(work)
  lastTurn = turn.catch(() => {})
  return turn
}
