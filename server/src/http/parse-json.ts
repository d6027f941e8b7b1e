import { setImmediate as breathe } from 'node:timers/promises'
import { invalid, invalidBody, unstorableText } from '../contract/errors.ts'
import { documentedName, type Selection } from '../contract/selection.ts'
import { isStorable } from '../database/database.ts'

/** How much a JSON text may contain. */
export interface JsonLimits {
  depth: number
  /** Arrays, objects and everything in them. */
  values: number
  /** Per object. */
  properties: number
}

export interface ParsedJson {
  /** The selected properties, and the first unknown property of each object that allows none. */
  value: unknown
  /** The whole text with sorted keys and no whitespace: equal JSON gives equal text. */
  canonical: string
  /** Paths of the first unknown properties of objects that allow them, like `lineItems[].color`. */
  ignored: string[]
}

export const QUOTE = 0x22
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPENING_LIST = 0x5b
export const BACKSLASH = 0x5c
export const CLOSING_LIST = 0x5d
export const OPENING_OBJECT = 0x7b
export const CLOSING_OBJECT = 0x7d

const NUMBER_OR_WORD = /-?(?:0|[1-9][0-9]*)(?:[.][0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null/y
const WORDS = new Map<string, boolean | null>([
  ['true', true],
  ['false', false],
  ['null', null],
])

/** Enough to find a mistake; a body can contain 65,000 names. */
const MAX_IGNORED = 20
const MAX_PATH_LENGTH = 100

/** Characters parsed per turn of the event loop: about a millisecond. */
const SLICE_LENGTH = 16 * 1024

/**
 * Parses a JSON text in slices, between which other requests proceed. For unselected properties only the canonical text
 * is built, because objects with thousands of different names are the most expensive to build.
 *
 * @throws ApiError 400 `invalid_json`, `unknown_property` for a misspelled one where unknown ones are ignored, or
 *   `invalid_body` beyond the limits and for text that cannot be stored.
 */
export async function parseJson(text: string, selection: Selection, bounds: JsonLimits): Promise<ParsedJson> {
  const reader = new JsonParser(text, selection, bounds)
  for (;;) {
    const result = reader.readSlice()
    if (result) return result
    await breathe()
  }
}

class JsonParser {
  readonly #text: string
  readonly #root: Selection
  readonly #bounds: JsonLimits
  /** The arrays and objects around the next value. */
  readonly #open: (OpenList | OpenObject)[] = []
  readonly #ignored = new Set<string>()
  #at = 0
  #values = 0
  #result: ParsedJson | undefined

  constructor(text: string, root: Selection, bounds: JsonLimits) {
    this.#text = text
    this.#root = root
    this.#bounds = bounds
  }

  /** Returns undefined when the slice ends before the text does. */
  readSlice(): ParsedJson | undefined {
    const end = this.#at + SLICE_LENGTH
    while (!this.#result && this.#at < end) this.#readValue()
    return this.#result
  }

  /** Reads a scalar, or the start of an array or object. */
  #readValue(): void {
    const outer = this.#open.at(-1)
    this.#skipSpace()
    if (outer instanceof OpenObject) this.#readName(outer)
    if (++this.#values > this.#bounds.values) {
      throw invalidBody(`The request body must not contain more than ${this.#bounds.values} values.`)
    }
    const selection = outer ? outer.selectionOfNext : this.#root
    const first = this.#text.charCodeAt(this.#at)
    if (first === OPENING_LIST) this.#begin(new OpenList(selection))
    else if (first === OPENING_OBJECT) this.#begin(new OpenObject(selection))
    else {
      if (first === QUOTE) this.#add(...this.#readText())
      else this.#add(...this.#readNumberOrWord())
      this.#end()
    }
  }

  #begin(open: OpenList | OpenObject): void {
    if (this.#open.push(open) > this.#bounds.depth) {
      throw invalidBody(`The request body must not be nested more than ${this.#bounds.depth} levels deep.`)
    }
    this.#at++
    this.#skipSpace()
    if (this.#text.charCodeAt(this.#at) === open.closing) this.#end()
  }

  #readName(object: OpenObject): void {
    if (this.#text.charCodeAt(this.#at) !== QUOTE) throw malformed()
    if (object.begin(...this.#readText()) > this.#bounds.properties) {
      throw invalidBody(`An object in the request body must not have more than ${this.#bounds.properties} properties.`)
    }
    if (object.isIgnored) this.#ignore(object)
    this.#skipSpace()
    if (this.#text.charCodeAt(this.#at++) !== COLON) throw malformed()
    this.#skipSpace()
  }

  #ignore({ selection, name }: OpenObject): void {
    const steps = this.#open.map((one) => (one instanceof OpenObject ? `.${one.name}` : '[]'))
    const path = steps.join('').slice(1, MAX_PATH_LENGTH).toWellFormed()
    if (this.#ignored.has(path)) return
    const documented = selection && documentedName(selection, name)
    if (documented) {
      const sent = path.replaceAll(/[\p{Cc}\p{Cf}]/gu, '?')
      throw invalid('unknown_property', `${sent} is not a property of this request. Its name is ${documented}.`)
    }
    if (this.#ignored.size < MAX_IGNORED) this.#ignored.add(path)
  }

  /** Adds a value to the array or object around it. */
  #add(value: unknown, text: string): void {
    const outer = this.#open.at(-1)
    if (outer) outer.add(value, text)
    else this.#result = { value, canonical: text, ignored: [...this.#ignored] }
  }

  /** Reads what follows a value: closing brackets, then a comma or the end of the text. */
  #end(): void {
    for (let outer = this.#open.at(-1); outer; outer = this.#open.at(-1)) {
      this.#skipSpace()
      const byte = this.#text.charCodeAt(this.#at++)
      if (byte === COMMA) return
      if (byte !== outer.closing) throw malformed()
      this.#open.pop()
      this.#add(outer.value, outer.text)
    }
    this.#skipSpace()
    if (this.#at !== this.#text.length) throw malformed()
  }

  /** Returns a string and its canonical text. */
  #readText(): [string, string] {
    const text = this.#text
    const start = this.#at
    let hasEscapes = false
    let at = start + 1
    for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(++at)) {
      if (code === BACKSLASH) {
        hasEscapes = true
        at++
      } else if (!(code >= 0x20)) throw malformed()
    }
    this.#at = at + 1
    const token = text.slice(start, this.#at)
    if (!hasEscapes) return [token.slice(1, -1), token]
    const value = parse(token) as string
    // In valid UTF-8 only escapes can encode characters that cannot be stored.
    if (!isStorable(value)) throw unstorableText()
    return [value, JSON.stringify(value)]
  }

  #readNumberOrWord(): [unknown, string] {
    NUMBER_OR_WORD.lastIndex = this.#at
    if (!NUMBER_OR_WORD.test(this.#text)) throw malformed()
    const token = this.#text.slice(this.#at, NUMBER_OR_WORD.lastIndex)
    this.#at = NUMBER_OR_WORD.lastIndex
    const value = WORDS.has(token) ? WORDS.get(token) : Number(token)
    return [value, JSON.stringify(value)]
  }

  #skipSpace(): void {
    const text = this.#text
    let at = this.#at
    while (isSpace(text.charCodeAt(at))) at++
    this.#at = at
  }
}

/** An array whose end is not read yet. */
class OpenList {
  readonly closing = CLOSING_LIST
  readonly value: unknown[] = []
  readonly #selection: Selection | undefined
  #items = ''
  #count = 0

  /** @param selection What to keep; undefined for nothing. */
  constructor(selection: Selection | undefined) {
    this.#selection = selection
  }

  /** The selection for the next item. */
  get selectionOfNext(): Selection | undefined {
    return this.#selection && this.#count < this.#selection.maxItems ? this.#selection.items : undefined
  }

  add(value: unknown, text: string): void {
    if (this.selectionOfNext) this.value.push(value)
    // V8 concatenates lazily (ropes), so the growing text is not copied.
    this.#items += this.#count++ === 0 ? text : `,${text}`
  }

  get text(): string {
    return `[${this.#items}]`
  }
}

/** An object whose end is not read yet. */
class OpenObject {
  readonly closing = CLOSING_OBJECT
  readonly value: Record<string, unknown> = {}
  readonly selection: Selection | undefined
  /** Of the current property. */
  name = ''
  isIgnored = false
  readonly #texts = new Map<string, string>()
  #count = 0
  #nameText = ''
  #unknown: string | undefined

  constructor(selection: Selection | undefined) {
    this.selection = selection
  }

  /** Starts a property and returns the number of properties so far. */
  begin(name: string, nameText: string): number {
    this.name = name
    this.#nameText = nameText
    const { byName, isClosed, others } = this.selection ?? {}
    const isKnown = byName?.has(name) ?? false
    if (isClosed && !isKnown) this.#unknown ??= name
    this.isIgnored = byName !== undefined && !isKnown && !isClosed && !others
    return ++this.#count
  }

  get selectionOfNext(): Selection | undefined {
    const { byName, others } = this.selection ?? {}
    return byName?.get(this.name) ?? others ?? (this.name === this.#unknown ? SCALAR : undefined)
  }

  add(value: unknown, text: string): void {
    if (this.selectionOfNext) setOwn(this.value, this.name, value)
    this.#texts.set(this.name, `${this.#nameText}:${text}`)
  }

  get text(): string {
    const names = [...this.#texts.keys()].sort()
    return `{${names.map((name) => this.#texts.get(name)).join(',')}}`
  }
}

/** Keeps a scalar; an array or object in its place stays empty. */
const SCALAR: Selection = { maxItems: 0 }

/** Sets an own property, even for the name `__proto__`. */
function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}

function parse(token: string): unknown {
  try {
    return JSON.parse(token)
  } catch {
    throw malformed()
  }
}

export const isSpace = (code: number | undefined) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

const malformed = () => invalid('invalid_json', 'The request body is not valid JSON.')
