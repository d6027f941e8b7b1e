import { setImmediate as breathe } from 'node:timers/promises'
import { invalid, invalidBody } from '../contract/errors.ts'
import type { Selection } from '../contract/selection.ts'
import { FairQueue } from '../database/fair-queue.ts'
import { isStorable, type ParsedJson, parseJson } from './parse-json.ts'
import { selectJson } from './select-json.ts'

/** Section 8 leaves the size open; 1 MiB holds any order. */
const MIB = 1024 * 1024
export const MAX_BODY_BYTES = MIB
/** A store sends everything it knows of an order, line by line. */
export const MAX_NOTIFICATION_BYTES = 4 * MIB
/** 65,000 values: an order of 1,000 lines of which 60 things are told, most of which nobody here asks for. */
const JSON_LIMITS = { depth: 32, values: 65_000, properties: 500 }
/** 1,000 lines with 17 taxes each. */
const MAX_NOTIFICATION_VALUES = 40_000
/** What takes several milliseconds to validate. */
export const LARGE_BODY_BYTES = 64 * 1024

/**
 * A body as JSON, whatever its content type says: the bytes decide. No body reads as an empty object. Of objects and
 * lists only what the selection names is kept; `canonical` is the same text for all ways to write the same body.
 *
 * @throws ApiError 400 `invalid_json`, or `invalid_body` for what cannot be stored.
 */
export async function parseBody(bytes: Uint8Array, selection: Selection): Promise<ParsedJson> {
  if (bytes.length === 0) return { value: {}, canonical: '{}' }
  const read = await parseJson(decode(bytes), selection, JSON_LIMITS)
  // Others have a turn before so much is validated.
  if (bytes.length > LARGE_BODY_BYTES) await breathe()
  return read
}

/**
 * A notification as JSON, of which only what the selection names is read; what is passed over is not checked.
 *
 * @throws ApiError 400 `invalid_json` or `invalid_body`.
 */
export async function parseNotification(bytes: Uint8Array, selection: Selection): Promise<unknown> {
  if (bytes.length === 0) return {}
  const selected = await selectJson(bytes, selection, MAX_NOTIFICATION_VALUES)
  const value = parse(selected)
  // Others have a turn before so much is validated.
  if (selected.length > LARGE_BODY_BYTES) await breathe()
  return value
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw invalid('invalid_json', 'The body is not valid JSON.')
  }
}

function parse(bytes: Uint8Array): unknown {
  const text = decode(bytes)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw invalid('invalid_json', 'The body is not valid JSON.')
  }
  if (UNSTORABLE.test(text)) rejectUnstorable(value)
  return value
}

// In text that is UTF-8, only escapes can make what cannot be stored. Looking for them costs less than walking through all.
const UNSTORABLE = /\\u(0000|d[89a-f])/i

function rejectUnstorable(value: unknown): void {
  if (typeof value === 'string') {
    if (!isStorable(value)) throw invalidBody('Text must not hold the character U+0000 or half a surrogate pair.')
    return
  }
  if (value === null || typeof value !== 'object') return
  for (const [key, inner] of Object.entries(value)) {
    rejectUnstorable(key)
    rejectUnstorable(inner)
  }
}

/** One text for all ways to write the same JSON: keys sorted, no white space. */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`).join(',')}}`
}

/**
 * Reads large bodies one at a time, of each shop in turn. A body lets other requests run after each slice; many bodies
 * read side by side would all run their slices first.
 */
export class ParseQueue {
  // What waits is bounded by the memory that bodies may take.
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
