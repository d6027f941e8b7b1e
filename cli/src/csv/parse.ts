import { readFileSync } from 'node:fs'
import { notFoundError, usageError } from '../errors.ts'

/** A row, by column name. */
export interface CsvRow {
  /** The line of the file on which it starts, from 1. */
  line: number
  cells: Record<string, string>
  /** The unmodified cells, for writing them back. */
  fields: string[]
  /** Why the row cannot be used. */
  problem: string | undefined
}

/** A table with more columns or rows is no export of a store, bank, or payment service, and might not fit into memory. */
const MAX_COLUMNS = 1000
const MAX_ROWS = 1_000_000

export interface Csv {
  header: string[]
  rows: CsvRow[]
}

/** Reads a UTF-8 CSV file with a header, separated by commas, semicolons or tabs (RFC 4180). */
export function readCsv(file: string): Csv {
  return parseCsv(decodeUtf8(readBytes(file), file), file)
}

/** @throws {CliError} not_found */
export function readBytes(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw notFoundError(code === 'ENOENT' ? `${file} does not exist.` : `Cannot read ${file}: ${code}.`)
  }
}

export function decodeUtf8(bytes: Buffer, file: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw usageError(`${file} is not UTF-8.`, 'Save it as "CSV UTF-8".')
  }
}

export function parseCsv(text: string, file: string): Csv {
  const lines = parseLines(text, detectSeparator(text), file)
  const header = (lines[0]?.fields ?? []).map((name) => name.trim())
  if (header.every((name) => name === '')) throw usageError(`${file} has no header line.`)
  const duplicate = header.find((name, i) => name !== '' && header.indexOf(name) !== i)
  if (duplicate !== undefined) throw usageError(`${file} has two columns named ${duplicate}. Rename one of them.`)
  const rows = lines
    .slice(1)
    .filter(({ fields }) => fields.length > 1 || fields[0]?.trim() !== '')
    .map(({ line, fields }) => ({
      line,
      fields,
      cells: Object.fromEntries(header.map((name, i) => [name, fields[i] ?? ''])),
      // With a different number of cells, values are in the wrong columns.
      problem:
        fields.length === header.length ? undefined : `${fields.length} cells, but the header has ${header.length}`,
    }))
  return { header, rows }
}

/** Returns the most frequent separator of the first line. */
function detectSeparator(text: string): string {
  const first = text.slice(0, text.search(/[\r\n]|$/)).replace(/"[^"]*"/g, '')
  const count = (mark: string) => first.split(mark).length
  return [',', ';', '\t'].reduce((best, mark) => (count(mark) > count(best) ? mark : best))
}

interface Line {
  line: number
  fields: string[]
}

/** The end of a quoted field, whose inner quotes are doubled, or -1. */
function endOfQuoted(text: string, start: number): number {
  for (let at = start + 1; ; at += 2) {
    at = text.indexOf('"', at)
    if (at === -1 || text[at + 1] !== '"') return at
  }
}

/** A field is either quoted, with inner quotes doubled, or extends to the next separator. */
function parseLines(text: string, separator: string, file: string): Line[] {
  const lines: Line[] = []
  const bare = new RegExp(`[^${separator}\\r\\n]*`, 'y')
  const lineEnd = /\r\n|\r|\n/y
  let at = 0
  let line = 1
  let current: Line = { line, fields: [] }
  while (at <= text.length) {
    if (text[at] === '"') {
      const end = endOfQuoted(text, at)
      if (end === -1) throw usageError(`Unclosed quote on line ${line} of ${file}.`)
      const field = text.slice(at + 1, end)
      current.fields.push(field.replaceAll('""', '"'))
      line += field.split('\n').length - 1
      at = end + 1
    } else {
      bare.lastIndex = at
      current.fields.push(bare.exec(text)?.[0] ?? '')
      at = bare.lastIndex
    }
    if (current.fields.length > MAX_COLUMNS)
      throw usageError(`Line ${current.line} of ${file} has more than ${MAX_COLUMNS} columns.`)
    if (at >= text.length) break
    if (text[at] === separator) {
      at += 1
      continue
    }
    lineEnd.lastIndex = at
    if (!lineEnd.test(text)) throw usageError(`Unexpected text after a closing quote on line ${line} of ${file}.`)
    at = lineEnd.lastIndex
    line += 1
    lines.push(current)
    if (lines.length > MAX_ROWS) throw usageError(`${file} has more than ${MAX_ROWS} rows.`, 'Split it.')
    current = { line, fields: [] }
    if (at >= text.length) return lines
  }
  lines.push(current)
  return lines
}
