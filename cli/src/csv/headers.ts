import { usage } from '../exit.ts'

/** Which column holds which field. */
export type Mapping = Record<string, string>

/** Spelling differs from shop to shop: `Order ID`, `order_id` and `orderId` are one name. */
const bare = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '')

/** The column of each field: as asked for, else the first of its usual names that is there. */
export function mapColumns(
  header: readonly string[],
  known: Readonly<Record<string, readonly string[]>>,
  asked: readonly string[] = [],
): Mapping {
  const mapping: Mapping = {}
  for (const [field, column] of asked.map(readPair)) {
    if (!Object.hasOwn(known, field))
      throw usage(`There is no field ${field}.`, `Fields: ${Object.keys(known).join(', ')}.`)
    if (column !== '' && !header.includes(column))
      throw usage(`There is no column ${column}.`, `Columns: ${header.filter(Boolean).join(', ')}.`)
    mapping[field] = column
  }
  const taken = new Set(Object.values(mapping))
  for (const [field, names] of Object.entries(known)) {
    if (Object.hasOwn(mapping, field)) continue
    const wanted = [field, ...names].map(bare)
    const found = wanted.flatMap((name) => header.filter((column) => bare(column) === name && !taken.has(column)))[0]
    if (found === undefined) continue
    mapping[field] = found
    taken.add(found)
  }
  // `--map note=` means: leave it out.
  return Object.fromEntries(Object.entries(mapping).filter(([, column]) => column !== ''))
}

/** The first column that has one of these names. */
export const findColumn = (header: readonly string[], names: readonly string[]): string | undefined =>
  names.flatMap((name) => header.filter((column) => bare(column) === bare(name)))[0]

const readPair = (text: string): [string, string] => {
  const at = text.indexOf('=')
  if (at < 1) throw usage(`--map is field=Column, not ${text}.`)
  return [text.slice(0, at), text.slice(at + 1)]
}
