import { sanitizeText } from '../output/text.ts'

/** A number written with exactly these digits. */
export interface ExactNumber {
  readonly decimal: string
}

/** A cell. Numbers are written unchanged; text is sanitized. */
export type Cell = string | number | boolean | ExactNumber | null | undefined

// Spreadsheets treat text with one of these prefixes as a formula, and normalize full-width characters.
const FORMULA = /^\s*[=+\-@|\uff1d\uff0b\uff0d\uff20]/u
// Those that separate cells at semicolons also evaluate what follows one, and some split quoted cells at a line break.
const LATER_FORMULA = /([;\n])(?=[^\S\n]*[=+\-@|\uff1d\uff0b\uff0d\uff20])/gu

/** Whether a spreadsheet would evaluate this text. */
export const isFormula = (text: string): boolean => FORMULA.test(text)

const quote = (text: string) => (/[",;\t\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** Formats an RFC 4180 cell. Text that looks like a formula gets an apostrophe as prefix. */
export function csvCell(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  if (typeof cell === 'object') return cell.decimal
  if (typeof cell !== 'string') return String(cell)
  const text = sanitizeText(cell).replace(LATER_FORMULA, "$1'")
  return quote(isFormula(text) ? `'${text}` : text)
}

/** Quotes a cell where needed, without sanitizing it. */
export const verbatimCell = (text: string): string => quote(text)

export const csvLine = (cells: readonly Cell[]): string => `${cells.map(csvCell).join(',')}\r\n`
