import { resolveSchema, type Schema } from './document.ts'

/**
 * What is read of a JSON text: the properties that its schema names, and a bounded number of items of each list. A
 * list or an object in the place of a plain value stays empty.
 */
export interface Selection {
  byName?: Map<string, Selection>
  /** The same by the length of the name in bytes, so that most other names are passed over without a comparison. */
  byLength?: Map<number, Property[]>
  /** Of properties under any other name. */
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
 * What a schema reads, in any of its alternatives. Items after `x-ignored-after` are left out; of `maxItems` one more is
 * kept, to be rejected.
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

/** What is in either. */
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
