import { resolveSchema, type Schema } from './document.ts'

/**
 * The part of a JSON text to read: the properties that its schema names, and a bounded number of items of each array. An
 * array or object in place of a scalar stays empty.
 */
export interface Selection {
  byName?: Map<string, Selection>
  /** The selection of properties with any other name. */
  others?: Selection
  /** Names folded to lower case without `_` and `-`, to find the documented name for a misspelled one. */
  bySpelling?: Map<string, string>
  /** Whether other properties are rejected. */
  isClosed?: boolean
  items?: Selection
  maxItems: number
}

/**
 * Returns the selection of a schema, in any of its alternatives. Items after `x-ignored-after` are dropped; one item more
 * than `maxItems` is kept, so that the validator rejects the array.
 */
export function selectionOf(schema: Schema): Selection {
  const { object } = resolveSchema(schema)
  return (object.anyOf ?? []).map(selectionOf).reduce(merged, ownSelection(object))
}

function ownSelection(schema: Schema): Selection {
  const { properties, additionalProperties: others, items, maxItems, 'x-ignored-after': readItems } = schema
  return {
    ...(properties &&
      selectionOfNames(new Map(Object.entries(properties).map(([name, property]) => [name, selectionOf(property)])))),
    ...(typeof others === 'object' && { others: selectionOf(others) }),
    ...(others === false && { isClosed: true }),
    ...(items && { items: selectionOf(items) }),
    maxItems: readItems ?? (maxItems === undefined ? Number.POSITIVE_INFINITY : maxItems + 1),
  }
}

function selectionOfNames(byName: Map<string, Selection>): Pick<Selection, 'byName' | 'bySpelling'> {
  const bySpelling = new Map([...byName.keys()].map((name) => [spelling(name), name]))
  return { byName, bySpelling }
}

const spelling = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '')

/** The documented name that an unknown one misspells: it differs in letter case, `_` and `-`, or one character. */
export function documentedName({ byName, bySpelling }: Selection, name: string): string | undefined {
  const exact = bySpelling?.get(spelling(name))
  return exact ?? [...(byName?.keys() ?? [])].find((documented) => isOneCharacterApart(name, documented))
}

/** Whether one character was added, omitted, or replaced. */
function isOneCharacterApart(name: string, other: string): boolean {
  const [short, long] = name.length <= other.length ? [name, other] : [other, name]
  if (long.length - short.length > 1) return false
  let start = 0
  while (start < short.length && short[start] === long[start]) start++
  return short.slice(short.length === long.length ? start + 1 : start) === long.slice(start + 1)
}

/** The union of two selections. */
function merged(a: Selection, b: Selection): Selection {
  const names = new Map([...(a.byName ?? []), ...(b.byName ?? [])])
  for (const [name, value] of a.byName ?? []) {
    const other = b.byName?.get(name)
    if (other) names.set(name, merged(value, other))
  }
  const [others, items] = [a.others ?? b.others, a.items ?? b.items]
  return {
    ...(names.size > 0 && selectionOfNames(names)),
    ...(others && { others }),
    ...((a.isClosed || b.isClosed) && { isClosed: true }),
    ...(items && { items }),
    maxItems: Math.max(a.maxItems, b.maxItems),
  }
}
