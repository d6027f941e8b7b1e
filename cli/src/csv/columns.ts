import { usageError } from '../errors.ts'

/** Each field's column. */
export type ColumnMapping = Record<string, string>

/** `Order ID`, `order_id` and `orderId` are the same name. */
const normalizeName = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '')

/** Finds each field's column: the one given with --map, otherwise the first of its usual names in the header. */
export function mapColumns(
  header: readonly string[],
  known: Readonly<Record<string, readonly string[]>>,
  overrides: readonly string[] = [],
): ColumnMapping {
  const mapping: ColumnMapping = {}
  for (const [field, column] of overrides.map(parsePair)) {
    if (!Object.hasOwn(known, field))
      throw usageError(`Unknown field ${field}.`, `Fields: ${Object.keys(known).join(', ')}.`)
    if (column !== '' && !header.includes(column))
      throw usageError(`Unknown column ${column}.`, `Columns: ${header.filter(Boolean).join(', ')}.`)
    mapping[field] = column
  }
  const taken = new Set(Object.values(mapping))
  for (const [field, names] of Object.entries(known)) {
    if (Object.hasOwn(mapping, field)) continue
    const candidates = [field, ...names].map(normalizeName)
    const matches = candidates.flatMap((name) =>
      header.filter((column) => normalizeName(column) === name && !taken.has(column)),
    )[0]
    if (matches === undefined) continue
    mapping[field] = matches
    taken.add(matches)
  }
  // `--map note=` excludes the field.
  return Object.fromEntries(Object.entries(mapping).filter(([, column]) => column !== ''))
}

/** Returns the first column with one of these names. */
export const findColumn = (header: readonly string[], names: readonly string[]): string | undefined =>
  names.flatMap((name) => header.filter((column) => normalizeName(column) === normalizeName(name)))[0]

const parsePair = (text: string): [string, string] => {
  const at = text.indexOf('=')
  if (at < 1) throw usageError(`--map must be field=Column, not ${text}.`)
  return [text.slice(0, at), text.slice(at + 1)]
}
