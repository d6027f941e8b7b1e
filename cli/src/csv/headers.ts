import { usageError } from '../exit.ts'

/** Which column holds which field. */
export type ColumnMapping = Record<string, string>

/** Spelling differs from shop to shop: `Order ID`, `order_id` and `orderId` are one name. */
const normalizeName = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '')

/** The column of each field: as asked for, else the first of its usual names that is there. */
export function mapColumns(
  header: readonly string[],
  known: Readonly<Record<string, readonly string[]>>,
  asked: readonly string[] = [],
): ColumnMapping {
  const mapping: ColumnMapping = {}
  for (const [field, column] of asked.map(parsePair)) {
    if (!Object.hasOwn(known, field))
      throw usageError(`There is no field ${field}.`, `Fields: ${Object.keys(known).join(', ')}.`)
    if (column !== '' && !header.includes(column))
      throw usageError(`There is no column ${column}.`, `Columns: ${header.filter(Boolean).join(', ')}.`)
    mapping[field] = column
  }
  const taken = new Set(Object.values(mapping))
  for (const [field, names] of Object.entries(known)) {
    if (Object.hasOwn(mapping, field)) continue
    const wanted = [field, ...names].map(normalizeName)
    const found = wanted.flatMap((name) =>
      header.filter((column) => normalizeName(column) === name && !taken.has(column)),
    )[0]
    if (found === undefined) continue
    mapping[field] = found
    taken.add(found)
  }
  // `--map note=` means: leave it out.
  return Object.fromEntries(Object.entries(mapping).filter(([, column]) => column !== ''))
}

/** The first column that has one of these names. */
export const findColumn = (header: readonly string[], names: readonly string[]): string | undefined =>
  names.flatMap((name) => header.filter((column) => normalizeName(column) === normalizeName(name)))[0]

const parsePair = (text: string): [string, string] => {
  const at = text.indexOf('=')
  if (at < 1) throw usageError(`--map is field=Column, not ${text}.`)
  return [text.slice(0, at), text.slice(at + 1)]
}
