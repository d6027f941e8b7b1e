// Spreadsheets treat text with such a prefix as a formula, and normalize full-width characters.
const FORMULA = /^\s*[=+\-@|\uff1d\uff0b\uff0d\uff20]/u

/** Control and bidirectional characters, which files for people do not contain. */
export const CONTROLS = /(?![\n])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/** `decimal`: a number in exactly these digits, such as an amount in currency units. */
export type CsvCell = string | number | { decimal: string } | null

/** A cell according to RFC 4180. Text that is a formula is prefixed with an apostrophe; numbers are written unchanged. */
function csvCell(value: CsvCell): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  if (typeof value === 'object') return value.decimal
  const text = value.replace(CONTROLS, '')
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",;\t\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** A line of a CSV file that a spreadsheet can open. */
export const csvLine = (cells: CsvCell[]): string => `${cells.map(csvCell).join(',')}\r\n`
