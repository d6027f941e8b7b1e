import { CsvError, parse } from 'csv-parse/sync'
import { UnreadableFileError } from './unreadable-file.ts'

// Pure, because the CLI bundles it as well.

/** A row's cells by column name. */
export interface CsvRow {
  /** The file's line on which it starts, from 1. */
  line: number
  cells: Record<string, string>
  /** The unmodified cells, for writing them back. */
  fields: string[]
  /** Why the row cannot be used. */
  problem: string | undefined
}

/** A larger table is not an export from a store, bank, or payment service, and might not fit into memory. */
const MAX_COLUMNS = 1000
const MAX_ROWS = 1_000_000
/** The parser creates an error for each of them, which takes seconds for a million. */
const MAX_WRONG_ROWS = 10_000

export interface Csv {
  header: string[]
  rows: CsvRow[]
}

/** A table whose cells have no names yet, which takes far less memory when there are many columns. */
interface CsvTable {
  header: string[]
  rows: Omit<CsvRow, 'cells'>[]
}

/** @throws UnreadableFileError */
export function decodeUtf8(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new UnreadableFileError(`${file} is not UTF-8.`, 'Save it as "CSV UTF-8".')
  }
}

/**
 * Parses a CSV text with a header, separated by commas, semicolons or tabs (RFC 4180).
 *
 * @param file the file's name in messages
 * @throws UnreadableFileError
 */
export function parseCsv(text: string, file: string): Csv {
  const { header, rows } = parseCsvTable(text, file)
  const toCells = (fields: string[]) => Object.fromEntries(header.map((name, i) => [name, fields[i] ?? '']))
  return { header, rows: rows.map((row) => ({ ...row, cells: toCells(row.fields) })) }
}

/** Like {@link parseCsv}, but with unnamed cells. */
export function parseCsvTable(text: string, file: string): CsvTable {
  const lines = parseLines(text, file)
  const header = (lines[0]?.fields ?? []).map((name) => name.trim())
  if (header.every((name) => name === '')) throw new UnreadableFileError(`${file} has no header line.`)
  const duplicate = header.find((name, i) => name !== '' && header.indexOf(name) !== i)
  if (duplicate !== undefined)
    throw new UnreadableFileError(`${file} has two columns named ${duplicate}. Rename one of them.`)
  const rows = lines
    .slice(1)
    .filter(({ fields }) => fields.length > 1 || fields[0]?.trim() !== '')
    .map(({ line, fields }) => ({
      line,
      fields,
      // With a different number of cells, values are in the wrong columns.
      problem: fields.length === header.length ? undefined : wrongLength(fields.length, header.length),
    }))
  return { header, rows }
}

const wrongLength = (cells: number, expected: number) =>
  `${cells} ${cells === 1 ? 'cell' : 'cells'}, but the header has ${expected}`

const SEPARATORS = [',', ';', '\t']

/** Returns the first line's most frequent separator. */
function detectSeparator(text: string): string {
  const first = text.slice(0, text.search(/[\r\n]|$/)).replace(/"[^"]*"/g, '')
  const count = (mark: string) => first.split(mark).length
  return SEPARATORS.reduce((best, mark) => (count(mark) > count(best) ? mark : best))
}

/** Each line's cells, with the line number on which they start. */
function parseLines(text: string, file: string): { line: number; fields: string[] }[] {
  const lines: { line: number; fields: string[] }[] = []
  const wrong: typeof lines = []
  let line = 1
  const onRecord = (fields: string[], { lines: last }: { lines: number }): null => {
    if (fields.length > MAX_COLUMNS)
      throw new UnreadableFileError(`Line ${line} of ${file} has more than ${MAX_COLUMNS} columns.`)
    if (lines.length > MAX_ROWS) throw new UnreadableFileError(`${file} has more than ${MAX_ROWS} rows.`, 'Split it.')
    lines.push({ line, fields })
    const expected = lines[0]!.fields.length
    if (fields.length !== expected) wrong.push(lines.at(-1)!)
    if (wrong.length > MAX_WRONG_ROWS) {
      const [first] = wrong
      const problem = `Line ${first!.line} of ${file} has ${wrongLength(first!.fields.length, expected)}`
      throw new UnreadableFileError(`${problem}, and ${MAX_WRONG_ROWS} other lines differ from it, too.`)
    }
    line = last + 1
    return null
  }
  try {
    parse(text, {
      delimiter: detectSeparator(text),
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      on_record: onRecord,
    })
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    throw error.code === 'CSV_QUOTE_NOT_CLOSED'
      ? new UnreadableFileError(`Unclosed quote on line ${line} of ${file}.`)
      : new UnreadableFileError(`Unexpected text next to a quote on line ${line} of ${file}.`)
  }
  return lines
}
