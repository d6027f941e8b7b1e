// Spreadsheets treat text with one of these prefixes as a formula, and normalize full-width characters. Those that
// separate cells at semicolons also evaluate what follows one, and some split quoted cells at a line break.
const FORMULA = /(^(?=\s*[=+\-@|\uff1d\uff0b\uff0d\uff20])|[;\n](?=[^\S\n]*[=+\-@|\uff1d\uff0b\uff0d\uff20]))/gu

/** Control and bidirectional characters, which are removed from files that people read. */
export const CONTROLS = /(?![\n])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/** `decimal`: a number in exactly these digits, such as an amount in currency units. */
export type CsvCell = string | number | { decimal: string } | null

/** An RFC 4180 cell. Text that looks like a formula gets an apostrophe as prefix; numbers are written unchanged. */
function csvCell(value: CsvCell): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  if (typeof value === 'object') return value.decimal
  const text = value.replace(CONTROLS, '')
  const safe = text.replace(FORMULA, "$1'")
  return /[",;\t\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** A line of a CSV file that a spreadsheet can open. */
export const csvLine = (cells: CsvCell[]): string => `${cells.map(csvCell).join(',')}\r\n`

/** The byte order mark. Without it, Excel reads a file in the system's character set. */
const BYTE_ORDER_MARK = '\ufeff'

/** A line for spreadsheets, without line breaks in cells: some spreadsheets start a row at a quoted line break. */
export const spreadsheetLine = (cells: CsvCell[]): string =>
  csvLine(cells.map((cell) => (typeof cell === 'string' ? cell.replace(/[\t\r\n]+/g, ' ') : cell)))

/** A file's column: its heading, and a function that returns a row's cell. */
export type FileColumn<Row> = readonly [heading: string, cell: (row: Row) => CsvCell]

/** The start of a file for spreadsheets: byte order mark and heading. */
export const spreadsheetHeading = <Row>(columns: readonly FileColumn<Row>[]): string =>
  `${BYTE_ORDER_MARK}${spreadsheetLine(columns.map(([heading]) => heading))}`

export const spreadsheetRow = <Row>(columns: readonly FileColumn<Row>[], row: Row): string =>
  spreadsheetLine(columns.map(([, cell]) => cell(row)))
