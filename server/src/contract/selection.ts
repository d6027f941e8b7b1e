import { resolveSchema, type Schema } from './document.ts'

/**
 * The part of a JSON text to read: the properties that its schema names, and a bounded number of items of each array. An
 * array or object in place of a scalar stays empty.
 */
export interface Selection {
  byName?: Map<string, Selection>
  /** The same by the length of the name in bytes, so that most other names are skipped without a comparison. */
  byLength?: Map<number, Property[]>
  /** The selection of properties with any other name. */
  others?: Selection
  /** No other property is allowed. */
  isClosed?: boolean
  items?: Selection
  maxItems: number
}

export interface Property {
  name: Uint8Array
  value: Selection
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
      selectionOfNames(new Map(Object.entries(properties).map(([name, one]) => [name, selectionOf(one)])))),
    ...(typeof others === 'object' && { others: selectionOf(others) }),
    ...(others === false && { isClosed: true }),
    ...(items && { items: selectionOf(items) }),
    maxItems: readItems ?? (maxItems === undefined ? Number.POSITIVE_INFINITY : maxItems + 1),
  }
}

function selectionOfNames(byName: Map<string, Selection>): Pick<Selection, 'byName' | 'byLength'> {
  const all = [...byName].map(([name, value]) => ({ name: Buffer.from(name), value }))
  return { byName, byLength: Map.groupBy(all, ({ name }) => name.length) }
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
