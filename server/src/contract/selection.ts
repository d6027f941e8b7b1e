import { deref, type Schema } from './document.ts'

/** What is read of a JSON text: the properties that its schema names, and a bounded number of items of each list. */
export interface Selection {
  /** By the length of the name in bytes, so that most other names are passed over without a comparison. */
  properties?: Map<number, Property[]>
  items?: Selection
  maxItems: number
}

export interface Property {
  name: Uint8Array
  value: Selection
}

/** What a schema reads. Items after `x-ignored-after` are left out; of `maxItems` one more is kept, to be rejected. */
export function selectionOf(schema: Schema): Selection {
  const { properties, items, maxItems, 'x-ignored-after': readItems } = deref(schema)
  return {
    ...(properties && { properties: byLength(properties) }),
    ...(items && { items: selectionOf(items) }),
    maxItems: readItems ?? (maxItems === undefined ? Number.POSITIVE_INFINITY : maxItems + 1),
  }
}

function byLength(properties: Record<string, Schema>): Map<number, Property[]> {
  const all = Object.entries(properties).map(([name, schema]) => ({
    name: Buffer.from(name),
    value: selectionOf(schema),
  }))
  return Map.groupBy(all, ({ name }) => name.length)
}
