import { setImmediate as breathe } from 'node:timers/promises'
import { invalid, invalidBody } from '../contract/errors.ts'
import type { Property, Selection } from '../contract/selection.ts'

import {
  BACKSLASH,
  CLOSING_LIST,
  CLOSING_OBJECT,
  COLON,
  COMMA,
  isSpace,
  OPENING_LIST,
  OPENING_OBJECT,
  QUOTE,
} from './parse-json.ts'

const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

/** Numbers represent every integer with this many digits exactly. */
const SAFE_DIGITS = 15
const MAX_NUMBER = 1024
const MAX_SPACE = 1024
/** Bytes per turn of the event loop: a few milliseconds before the JIT compiles the code, less than one after. */
const SLICE_BYTES = 16 * 1024
const INITIAL_BYTES = 16 * 1024

/**
 * Copies the selected properties of a JSON text in one pass over its bytes, during which other requests proceed; parsing
 * all of a large payload would block them. Integers beyond the safe range become text, and an array or object in place of
 * a scalar stays empty. Skipped parts are not checked.
 *
 * @throws ApiError 400 `invalid_json`, or `invalid_body` when more than `maxValues` values would be read.
 */
export const selectJson = (bytes: Uint8Array, selection: Selection, maxValues: number): Promise<Uint8Array> =>
  new Selector(bytes, maxValues).select(selection)

class Selector {
  readonly #bytes: Uint8Array
  readonly #maxValues: number
  /** Grows with the selected properties, which are a small part of most notifications. */
  #out = new Uint8Array(INITIAL_BYTES)
  #at = 0
  #length = 0
  #values = 0
  #sliceEnd = SLICE_BYTES
  /** State inside a skipped value: open arrays and objects, and whether a string is open. */
  #depth = 0
  #isText = false

  constructor(bytes: Uint8Array, maxValues: number) {
    this.#bytes = bytes
    this.#maxValues = maxValues
  }

  async select(selection: Selection): Promise<Uint8Array> {
    if (BYTE_ORDER_MARK.every((byte, index) => this.#bytes[index] === byte)) this.#at = BYTE_ORDER_MARK.length
    this.#skipSpace()
    await this.#value(selection)
    this.#skipSpace()
    if (this.#at !== this.#bytes.length) throw malformed()
    return this.#out.subarray(0, this.#length)
  }

  async #value({ byLength, items, maxItems }: Selection): Promise<void> {
    if (++this.#values > this.#maxValues) {
      throw invalidBody(
        `The request body must not contain more than ${this.#maxValues} values of the documented properties.`,
      )
    }
    const start = this.#at
    const first = this.#bytes[start]
    if (first === OPENING_OBJECT && byLength) return this.#object(byLength)
    if (first === OPENING_LIST && items) return this.#list(items, maxItems)
    if (!this.#skip()) await this.#skipOn()
    if (first === OPENING_OBJECT || first === OPENING_LIST) return this.#putEmpty(first)
    const isLong = this.#isLongInteger(start)
    if (isLong) this.#put(QUOTE)
    this.#copy(start, this.#at)
    if (isLong) this.#put(QUOTE)
  }

  async #object(properties: Map<number, Property[]>): Promise<void> {
    let isFirst = true
    this.#open(OPENING_OBJECT)
    while (!this.#closes(CLOSING_OBJECT)) {
      const start = this.#at
      if (this.#bytes[start] !== QUOTE) throw malformed()
      if (!this.#skip()) await this.#skipOn()
      const end = this.#at
      this.#skipSpace()
      if (this.#bytes[this.#at++] !== COLON) throw malformed()
      this.#skipSpace()
      const known = properties.get(end - start - 2)?.find(({ name }) => this.#isAt(start + 1, name))
      if (known) {
        if (!isFirst) this.#put(COMMA)
        isFirst = false
        this.#copy(start, end)
        this.#put(COLON)
        await this.#value(known.value)
      } else if (!this.#skip()) await this.#skipOn()
      this.#separate(CLOSING_OBJECT)
      if (this.#at > this.#sliceEnd) await this.#pause()
    }
    this.#put(CLOSING_OBJECT)
  }

  async #list(items: Selection, maxItems: number): Promise<void> {
    this.#open(OPENING_LIST)
    for (let count = 0; !this.#closes(CLOSING_LIST); count++) {
      if (count === maxItems) {
        this.#depth = 1
        await this.#skipOn()
        break
      }
      if (count > 0) this.#put(COMMA)
      await this.#value(items)
      this.#separate(CLOSING_LIST)
    }
    this.#put(CLOSING_LIST)
  }

  #open(byte: number): void {
    this.#put(byte)
    this.#at++
    this.#skipSpace()
  }

  /** Steps over the end of an array or object, if it is next. */
  #closes(closing: number): boolean {
    if (this.#bytes[this.#at] !== closing) return false
    this.#at++
    return true
  }

  /** Steps to the next item or to the end of its array or object. */
  #separate(closing: number): void {
    this.#skipSpace()
    const byte = this.#bytes[this.#at]
    if (byte === closing) return
    if (byte !== COMMA) throw malformed()
    this.#at++
    this.#skipSpace()
    if (this.#bytes[this.#at] === closing) throw malformed()
  }

  /** Skips a value; false when the slice ends before the value does. */
  #skip(): boolean {
    const first = this.#bytes[this.#at]
    this.#isText = first === QUOTE
    this.#depth = first === OPENING_LIST || first === OPENING_OBJECT ? 1 : 0
    if (this.#isText || this.#depth > 0) {
      this.#at++
      return this.#skipSlice()
    }
    const start = this.#at
    while (isPlain(this.#bytes[this.#at]) && this.#at - start <= MAX_NUMBER) this.#at++
    if (this.#at === start) throw malformed()
    if (this.#at - start > MAX_NUMBER) throw invalidBody(`A number must have at most ${MAX_NUMBER} characters.`)
    return true
  }

  /** Skips the rest of a value. */
  async #skipOn(): Promise<void> {
    while (!this.#skipSlice()) await this.#pause()
  }

  #skipSlice(): boolean {
    const bytes = this.#bytes
    const end = Math.min(bytes.length, this.#sliceEnd)
    let depth = this.#depth
    let isText = this.#isText
    let at = this.#at
    while ((depth > 0 || isText) && at < end) {
      const byte = bytes[at++]
      if (isText) {
        if (byte === BACKSLASH) at++
        else if (byte === QUOTE) isText = false
      } else if (byte === QUOTE) isText = true
      else if (byte === OPENING_LIST || byte === OPENING_OBJECT) depth++
      else if (byte === CLOSING_LIST || byte === CLOSING_OBJECT) depth--
    }
    this.#at = at
    this.#depth = depth
    this.#isText = isText
    const isOver = depth === 0 && !isText
    if (!isOver && at >= bytes.length) throw malformed()
    return isOver
  }

  async #pause(): Promise<void> {
    await breathe()
    this.#sliceEnd = this.#at + SLICE_BYTES
  }

  #skipSpace(): void {
    const bytes = this.#bytes
    let at = this.#at
    while (isSpace(bytes[at]) && at - this.#at <= MAX_SPACE) at++
    if (at - this.#at > MAX_SPACE) throw invalidBody(`Whitespace must have at most ${MAX_SPACE} characters in a row.`)
    this.#at = at
  }

  #isAt(start: number, name: Uint8Array): boolean {
    for (let index = 0; index < name.length; index++) if (this.#bytes[start + index] !== name[index]) return false
    return true
  }

  #isLongInteger(start: number): boolean {
    const first = this.#bytes[start] === MINUS ? start + 1 : start
    const digits = this.#at - first
    if (digits <= SAFE_DIGITS || this.#bytes[first] === ZERO) return false
    for (let at = first; at < this.#at; at++) if (!isDigit(this.#bytes[at])) return false
    return digits > SAFE_DIGITS + 1 || !Number.isSafeInteger(Number(this.#text(start)))
  }

  #text(start: number): string {
    return String.fromCharCode(...this.#bytes.subarray(start, this.#at))
  }

  /** Makes room for more bytes. */
  #reserve(count: number): void {
    const length = this.#length + count
    if (length <= this.#out.length) return
    const out = new Uint8Array(Math.max(length, this.#out.length * 2))
    out.set(this.#out)
    this.#out = out
  }

  #put(byte: number): void {
    this.#reserve(1)
    this.#out[this.#length++] = byte
  }

  #putEmpty(opening: number): void {
    this.#put(opening)
    this.#put(opening === OPENING_LIST ? CLOSING_LIST : CLOSING_OBJECT)
  }

  #copy(start: number, end: number): void {
    this.#reserve(end - start)
    this.#out.set(this.#bytes.subarray(start, end), this.#length)
    this.#length += end - start
  }
}

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= ZERO && byte <= NINE
/** Part of a number, `true`, `false` or `null`. */
const isPlain = (byte: number | undefined) =>
  byte !== undefined &&
  byte > 0x20 &&
  byte !== QUOTE &&
  byte !== COMMA &&
  byte !== COLON &&
  byte !== OPENING_LIST &&
  byte !== CLOSING_LIST &&
  byte !== OPENING_OBJECT &&
  byte !== CLOSING_OBJECT

const malformed = () => invalid('invalid_json', 'The request body is not valid JSON.')
