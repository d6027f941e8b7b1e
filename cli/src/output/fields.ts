import { usageError } from '../exit.ts'

export type Row = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value at a dotted path. */
export const valueAt = (row: Row, path: string): unknown =>
  path.split('.').reduce<unknown>((at, step) => (isObject(at) ? at[step] : undefined), row)

const hasPath = (row: Row, path: string): boolean => {
  const steps = path.split('.')
  const last = steps.pop() ?? ''
  const home = steps.length ? valueAt(row, steps.join('.')) : row
  return isObject(home) && Object.hasOwn(home, last)
}

/** Only these fields, in this order. A name that no row has is a typing error, not an empty column. */
export function selectFields(rows: readonly Row[], fields: readonly string[]): Row[] {
  const unknown = fields.find((field) => rows.length > 0 && !rows.some((row) => hasPath(row, field)))
  if (unknown !== undefined)
    throw usageError(`There is no field ${unknown}.`, `Fields: ${[...new Set(rows.flatMap(Object.keys))].join(', ')}.`)
  return rows.map((row) => Object.fromEntries(fields.map((field) => [field, valueAt(row, field) ?? null])))
}

/** Nested objects become dotted names, lists JSON, so that a row fits a line. */
export function flatten(row: Row, prefix = ''): Record<string, string | number | boolean | null> {
  const flat: Record<string, string | number | boolean | null> = {}
  for (const [name, value] of Object.entries(row)) {
    const path = prefix + name
    if (isObject(value)) Object.assign(flat, flatten(value, `${path}.`))
    else if (Array.isArray(value))
      flat[path] = value.every((one) => typeof one === 'string') ? value.join(' ') : JSON.stringify(value)
    else flat[path] = value === undefined ? null : (value as string | number | boolean | null)
  }
  return flat
}
