// Controls, and the marks that reorder text: names are what affiliates typed, and a terminal obeys such characters.
const CONTROL_CHARACTERS = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** One line of harmless text. */
export const sanitizeText = (text: string): string => text.replace(/[\t\r\n]+/g, ' ').replace(CONTROL_CHARACTERS, '')

/** JSON that no terminal obeys: everything that controls is escaped, so nothing is lost. */
export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, undefined, indent).replace(CONTROL_CHARACTERS, (one) =>
    // Line ends and indents here are the serialiser's own; those of the data are escaped already.
    one === '\n' ? one : `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u

/** Columns that a text takes on a terminal. */
export function widthOf(text: string): number {
  let width = 0
  for (const letter of text) width += NO_WIDTH.test(letter) ? 0 : WIDE.test(letter) ? 2 : 1
  return width
}

export const padTo = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)))
