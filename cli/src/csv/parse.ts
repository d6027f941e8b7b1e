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
  const [first, ...rest] = parseLines(text, detectSeparator(text), file)
  const header = (first?.fields ?? []).map((name) => name.trim())
  if (header.every((name) => name === '')) throw usageError(`${file} has no header line.`)
  const duplicate = header.find((name, i) => name !== '' && header.indexOf(name) !== i)
  if (duplicate !== undefined) throw usageError(`${file} has two columns named ${duplicate}. Rename one of them.`)
  const rows = rest
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

/** A field is either quoted, with inner quotes doubled, or extends to the next separator. */
function parseLines(text: string, separator: string, file: string): Line[] {
  const lines: Line[] = []
  const bare = new RegExp(`[^${separator}\\r\\n]*`, 'y')
  const quoted = /"((?:[^"]|"")*)"/y
  let at = 0
  let line = 1
  let current: Line = { line, fields: [] }
  while (at <= text.length) {
    const pattern = text[at] === '"' ? quoted : bare
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (!match) throw usageError(`Unclosed quote on line ${line} of ${file}.`)
    at = pattern.lastIndex
    current.fields.push(pattern === quoted ? (match[1] ?? '').replaceAll('""', '"') : match[0])
    line += match[0].split('\n').length - 1
    if (at >= text.length) break
    if (text[at] === separator) {
      at += 1
      continue
    }
    const end = /\r\n|\r|\n/y
    end.lastIndex = at
    if (!end.test(text)) throw usageError(`Unexpected text after a closing quote on line ${line} of ${file}.`)
    at = end.lastIndex
    line += 1
    lines.push(current)
    current = { line, fields: [] }
    if (at >= text.length) return lines
  }
  lines.push(current)
  return lines
}
