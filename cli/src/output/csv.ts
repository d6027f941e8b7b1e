import { sanitizeText } from './text.ts'

/** A number with all its digits. */
export interface ExactNumber {
  readonly decimal: string
}

/** A cell: a number stands as it is, a text is made harmless. */
export type Cell = string | number | boolean | ExactNumber | null | undefined

// A spreadsheet takes a text that begins so for a formula; full-width forms are folded to the same.
const FORMULA = /^\s*[=+\-@|\uff1d\uff0b\uff0d\uff20]/u

/** Whether a spreadsheet would calculate this text. */
export const isFormula = (text: string): boolean => FORMULA.test(text)

const quote = (text: string) => (/[",;\t\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

/** One cell as RFC 4180 wants it. A text that would be a formula gets an apostrophe in front. */
export function csvCell(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  if (typeof cell === 'object') return cell.decimal
  if (typeof cell !== 'string') return String(cell)
  const text = sanitizeText(cell)
  return quote(isFormula(text) ? `'${text}` : text)
}

/** A cell that must come back as it was: quoted where needed, changed in nothing. */
export const verbatimCell = (text: string): string => quote(text)

export const csvLine = (cells: readonly Cell[]): string => `${cells.map(csvCell).join(',')}\r\n`
