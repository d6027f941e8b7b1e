import { colorizeStatus, type Palette } from './color.ts'
import { csvLine } from './csv.ts'
import { flatten, type Row, selectFields, valueAt } from './fields.ts'
import { padTo, sanitizeText, toJson, widthOf } from './text.ts'

/** A column of a table: a field, and how people read it when that differs from the raw value. */
export type Column<T> = string | { field: string; title?: string; format?: (row: T) => string }

export interface OutputStyle {
  format: 'table' | 'plain' | 'json' | 'ndjson' | 'csv'
  /** `--json=a,b`: only these. */
  fields: readonly string[] | undefined
  palette: Palette
  isTerminal: boolean
}

const fieldOf = <T>(column: Column<T>) => (typeof column === 'string' ? column : column.field)
const titleOf = <T>(column: Column<T>) => (typeof column === 'string' ? column : (column.title ?? column.field))
// `discountCode` reads as DISCOUNT CODE.
const splitWords = (name: string) => name.replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
const toRawText = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value.join(' ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Rows in the format that was asked for. Ends with a line break unless it is empty. */
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

/** One thing: name and value, line by line, or the one object of its format. */
export function renderRecord(record: object, style: OutputStyle): string {
  const { format, fields } = style
  const wanted = (fields ? selectFields([record as Row], fields)[0] : record) as Row
  if (format === 'json') return `${toJson(wanted, style.isTerminal ? 2 : undefined)}\n`
  if (format === 'ndjson') return `${toJson(wanted)}\n`
  if (format === 'csv') return toCsv([wanted])
  const lines = Object.entries(flatten(wanted)).map(([name, value]) => [name, sanitizeText(toRawText(value))] as const)
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
  const show = (row: T, column: Column<T>) =>
    sanitizeText(
      typeof column === 'object' && column.format
        ? column.format(row)
        : toRawText(valueAt(row as Row, fieldOf(column))) || '–',
    )
  const cells = rows.map((row) => columns.map((column) => show(row, column)))
  const titles = columns.map((column) => splitWords(titleOf(column)).toUpperCase())
  const widths = titles.map((title, i) => Math.max(title.length, ...cells.map((line) => widthOf(line[i] ?? ''))))
  const line = (texts: readonly string[], paint: (text: string, padded: string) => string) =>
    `${texts.map((text, i) => paint(text, i === texts.length - 1 ? text : padTo(text, widths[i] ?? 0))).join('  ')}\n`
  const head = line(titles, (_, padded) => palette.bold(padded))
  const paintCell = (text: string, padded: string) => padded.replace(text, () => colorizeStatus(palette, text))
  return head + cells.map((texts) => line(texts, paintCell)).join('')
}
