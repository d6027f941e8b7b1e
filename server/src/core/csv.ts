// Spreadsheets treat text with such a prefix as a formula, and normalize full-width characters.
// Those that separate cells at semicolons also evaluate what follows one, and some split quoted cells at a line break.
const FORMULA = /(^(?=\s*[=+\-@|\uff1d\uff0b\uff0d\uff20])|[;\n](?=[^\S\n]*[=+\-@|\uff1d\uff0b\uff0d\uff20]))/gu

/** Control and bidirectional characters, which files for people do not contain. */
export const CONTROLS = /(?![\n])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/** `decimal`: a number in exactly these digits, such as an amount in currency units. */
export type CsvCell = string | number | { decimal: string } | null

/** A cell according to RFC 4180. Formulas in a text are prefixed with an apostrophe; numbers are written unchanged. */
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

/** Begins a file for a spreadsheet. Excel reads a file without it in the character set of the system. */
const BYTE_ORDER_MARK = '\ufeff'

/** A line of a file for a spreadsheet: some of them start a row at a line break within quotes. */
export const spreadsheetLine = (cells: CsvCell[]): string =>
  csvLine(cells.map((cell) => (typeof cell === 'string' ? cell.replace(/[\t\r\n]+/g, ' ') : cell)))

/** A column of a file: its heading, and its cell of a row. */
export type FileColumn<Row> = readonly [heading: string, cell: (row: Row) => CsvCell]

/** The beginning of a file for a spreadsheet. */
export const spreadsheetHeading = <Row>(columns: readonly FileColumn<Row>[]): string =>
  `${BYTE_ORDER_MARK}${spreadsheetLine(columns.map(([heading]) => heading))}`

export const spreadsheetRow = <Row>(columns: readonly FileColumn<Row>[], row: Row): string =>
  spreadsheetLine(columns.map(([, cell]) => cell(row)))
