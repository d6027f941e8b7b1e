import { setImmediate as breathe } from 'node:timers/promises'
import type { Context as HonoContext } from 'hono'
import { deref, type Parameter, type Schema } from '../contract/document.ts'
import { invalid, unstorableText } from '../contract/errors.ts'
import type { Selection } from '../contract/selection.ts'
import type { Input, Operation, OperationId } from '../contract/spec.ts'
import { isStorable } from '../database/database.ts'
import { FairQueue } from '../database/fair-queue.ts'
import { type ParsedJson, parseJson } from './parse-json.ts'
import { selectJson } from './select-json.ts'

/**
 * Converts query text to the types of the document: numeric text becomes a number, anything else is left to the validator.
 * Undocumented parameters are dropped.
 */
function readQuery(parameters: Parameter[], search: URLSearchParams): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  for (const { name, schema } of parameters) {
    const values = search.getAll(name)
    const [first] = values
    if (first === undefined) continue
    if (values.length > 1) throw invalid('invalid_parameter', `${name} must be sent only once.`)
    if (!isStorable(first)) throw invalid('invalid_parameter', `${name} must not contain the character U+0000.`)
    query[name] = coerce(deref(schema), first)
  }
  return query
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
    query: op.readQuery(queryParameters.length > 0 ? readQuery(queryParameters, searchParamsOf(c.req.url)) : {}),
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
/** 65,000 values fit an order of 1,000 lines with 60 properties each. */
const JSON_LIMITS = { depth: 32, values: 65_000, properties: 500 }
/** Fits 1,000 lines with 17 taxes each. */
const MAX_NOTIFICATION_VALUES = 40_000
/** Larger bodies take several milliseconds to validate. */
export const LARGE_BODY_BYTES = 64 * 1024

/**
 * Parses a body as JSON, whatever its content type. An empty body is an empty object. Only properties of the selection are
 * kept; `canonical` covers the whole body and is the same for equal JSON, however it was formatted.
 *
 * @throws ApiError 400 `invalid_json`, or `invalid_body` for text that cannot be stored.
 */
export async function parseBody(bytes: Uint8Array, selection: Selection): Promise<ParsedJson> {
  if (bytes.length === 0) return { value: {}, canonical: '{}', ignored: [] }
  const read = await parseJson(decode(bytes), selection, JSON_LIMITS)
  // Lets other requests proceed before the validation.
  if (bytes.length > LARGE_BODY_BYTES) await breathe()
  return read
}

/**
 * Parses the selected properties of a notification. The rest is skipped without being checked.
 *
 * @throws ApiError 400 `invalid_json` or `invalid_body`.
 */
export async function parseNotification(bytes: Uint8Array, selection: Selection): Promise<unknown> {
  if (bytes.length === 0) return {}
  const selected = await selectJson(bytes, selection, MAX_NOTIFICATION_VALUES)
  const value = parse(selected)
  // Lets other requests proceed before the validation.
  if (selected.length > LARGE_BODY_BYTES) await breathe()
  return value
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalid('invalid_json', 'The request body is not valid JSON.')
  }
}

function parse(bytes: Uint8Array): unknown {
  const text = decode(bytes)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw invalid('invalid_json', 'The request body is not valid JSON.')
  }
  if (UNSTORABLE.test(text)) rejectUnstorable(value)
  return value
}

// In valid UTF-8 only escapes can encode characters that cannot be stored; finding them is cheaper than checking every value.
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
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`).join(',')}}`
}

/**
 * Parses large bodies one at a time, of each shop in turn. Each slice yields to other requests; bodies parsed concurrently
 * would run all their slices first.
 */
export class ParseQueue {
  // The body budget bounds the queue.
  readonly #waiting = new FairQueue<() => Promise<void>>(Number.POSITIVE_INFINITY)
  #isReading = false

  run<T>(shopId: string, work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.add(shopId, () => work().then(resolve, reject))
      if (!this.#isReading) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#isReading = true
    for (let next = this.#waiting.take(); next; next = this.#waiting.take()) await next()
    this.#isReading = false
  }
}
