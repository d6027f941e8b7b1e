// Control characters and bidirectional marks: affiliates choose their names, and a terminal interprets such characters.
const CONTROL_CHARACTERS = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/** Removes control characters and line breaks, so that the text is safe to print on a terminal. */
export const sanitizeText = (text: string): string => text.replace(/[\t\r\n]+/g, ' ').replace(CONTROL_CHARACTERS, '')

/** Serializes to JSON with control characters escaped, so that it is lossless and safe to print on a terminal. */
export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, undefined, indent).replace(CONTROL_CHARACTERS, (character) =>
    // A line break here is part of the indentation, because line breaks in strings are already escaped.
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** A number and its noun: `1 payment`, `3 payments`. */
export const counted = (number: number, noun: string, plural = `${noun}s`): string =>
  `${number} ${number === 1 ? noun : plural}`

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
const NO_WIDTH = /[\p{Mn}\p{Me}\p{Cf}]/u

/** Returns the number of terminal columns that a text occupies. */
export function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += NO_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1
  return width
}

export const padTo = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)))
