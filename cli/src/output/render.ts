import { csvLine } from '../csv/write.ts'
import { usageError } from '../errors.ts'
import { colorizeStatus, type Palette } from './color.ts'
import { padTo, sanitizeText, toJson, widthOf } from './text.ts'

export type Row = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value at a dotted path. */
export const valueAt = (row: Row, path: string): unknown =>
  path.split('.').reduce<unknown>((at, step) => (isObject(at) ? at[step] : undefined), row)

const hasPath = (row: Row, path: string): boolean => {
  const steps = path.split('.')
  const last = steps.pop() ?? ''
  const parent = steps.length ? valueAt(row, steps.join('.')) : row
  return isObject(parent) && Object.hasOwn(parent, last)
}

/** Selects fields in this order. @throws {CliError} usage when no row has a field, which is most likely a typo. */
export function selectFields(rows: readonly Row[], fields: readonly string[]): Row[] {
  const unknown = fields.find((field) => rows.length > 0 && !rows.some((row) => hasPath(row, field)))
  if (unknown !== undefined)
    throw usageError(`Unknown field ${unknown}.`, `Fields: ${[...new Set(rows.flatMap(Object.keys))].join(', ')}.`)
  return rows.map((row) => Object.fromEntries(fields.map((field) => [field, valueAt(row, field) ?? null])))
}

/**
 * Flattens a row to one level: nested objects become dotted names. Lists of objects become JSON, or with `expandLists`
 * dotted names with numbers.
 */
export function flatten(row: Row, prefix = '', expandLists = false): Record<string, string | number | boolean | null> {
  const flat: Record<string, string | number | boolean | null> = {}
  for (const [name, value] of Object.entries(row)) {
    const path = prefix + name
    if (isObject(value)) Object.assign(flat, flatten(value, `${path}.`, expandLists))
    else if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) flat[path] = value.join(' ')
    else if (Array.isArray(value) && expandLists)
      Object.assign(flat, flatten(Object.fromEntries(Object.entries(value)), `${path}.`, true))
    else if (Array.isArray(value)) flat[path] = JSON.stringify(value)
    else flat[path] = value === undefined ? null : (value as string | number | boolean | null)
  }
  return flat
}

/** A table column: a field, and how to display it if that differs from its value. */
export type Column<T> = string | { field: string; title?: string; format?: (row: T) => string }

export interface OutputStyle {
  format: 'table' | 'plain' | 'json' | 'ndjson' | 'csv'
  /** The fields in `--json=a,b`. */
  fields: readonly string[] | undefined
  palette: Palette
  isTerminal: boolean
}

const fieldOf = <T>(column: Column<T>) => (typeof column === 'string' ? column : column.field)
const titleOf = <T>(column: Column<T>) => (typeof column === 'string' ? column : (column.title ?? column.field))
// discountCode becomes DISCOUNT CODE.
const splitWords = (name: string) => name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
const toRawText = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'object') return String(value)
  const fields = Object.entries(flatten({ value }, '', true))
  return fields.map(([path, field]) => (path === 'value' ? field : `${path.slice(6)}=${field}`)).join(' ')
}

/** Renders a list. The result ends with a line break unless it is empty. */
export function renderRows<T extends object>(
  rows: readonly T[],
  columns: readonly Column<T>[],
  style: OutputStyle,
): string {
  const { format, fields } = style
  const all = rows as readonly Row[]
  const selected = fields ? selectFields(all, fields) : all
  if (format === 'json') return `${toJson(selected, style.isTerminal ? 2 : undefined)}\n`
  if (format === 'ndjson') return selected.map((row) => `${toJson(row)}\n`).join('')
  if (format === 'csv') return toCsv(selected)
  return format === 'table' ? toTable(rows, columns, style.palette) : toTsv(all, columns.map(fieldOf))
}

/** Renders one object: as lines of name and value, or in the requested format. */
export function renderRecord(record: object, style: OutputStyle): string {
  const { format, fields } = style
  const selected = (fields ? selectFields([record as Row], fields)[0] : record) as Row
  if (format === 'json') return `${toJson(selected, style.isTerminal ? 2 : undefined)}\n`
  if (format === 'ndjson') return `${toJson(selected)}\n`
  if (format === 'csv') return toCsv([selected])
  const lines = Object.entries(flatten(selected, '', true)).map(
    ([name, value]) => [name, sanitizeText(toRawText(value))] as const,
  )
  if (format === 'plain') return lines.map(([name, value]) => `${name}\t${value}\n`).join('')
  const width = Math.max(0, ...lines.map(([name]) => name.length))
  const { palette } = style
  return lines
    .map(([name, value]) => `${palette.dim(padTo(name, width))}  ${colorizeStatus(palette, value || '–')}\n`)
    .join('')
}

function toCsv(rows: readonly Row[]): string {
  const flat = rows.map((row) => flatten(row))
  const names = [...new Set(flat.flatMap(Object.keys))]
  return csvLine(names) + flat.map((row) => csvLine(names.map((name) => row[name]))).join('')
}

const toTsv = (rows: readonly Row[], fields: readonly string[]): string =>
  rows.map((row) => `${fields.map((field) => sanitizeText(toRawText(valueAt(row, field)))).join('\t')}\n`).join('')

function toTable<T extends object>(rows: readonly T[], columns: readonly Column<T>[], palette: Palette): string {
  if (rows.length === 0) return ''
  const textOf = (row: T, column: Column<T>) =>
    sanitizeText(
      typeof column === 'object' && column.format
        ? column.format(row)
        : toRawText(valueAt(row as Row, fieldOf(column))) || '–',
    )
  const cells = rows.map((row) => columns.map((column) => textOf(row, column)))
  const titles = columns.map((column) => splitWords(titleOf(column)).toUpperCase())
  const widths = titles.map((title, i) => Math.max(title.length, ...cells.map((line) => widthOf(line[i] ?? ''))))
  const line = (texts: readonly string[], colorize: (text: string, padded: string) => string) =>
    `${texts.map((text, i) => colorize(text, i === texts.length - 1 ? text : padTo(text, widths[i] ?? 0))).join('  ')}\n`
  const head = line(titles, (_, padded) => palette.bold(padded))
  const colorizeCell = (text: string, padded: string) => padded.replace(text, () => colorizeStatus(palette, text))
  return head + cells.map((texts) => line(texts, colorizeCell)).join('')
}
