/** Everything a generated code may hold: 34 characters, none of which is mistaken for another. */
export const CODE_ALPHABET = 'ABCDEFGHIJKLMNPQRSTUVWXYZ123456789'
/** Length of a generated code (section 4.5). */
export const CODE_LENGTH = 8
/** Most code points of a supplied code (section 4.5). */
export const MAX_CODE_LENGTH = 9

/** Why a supplied code is refused. */
export type CodeProblem = 'EMPTY' | 'TOO_LONG' | 'WHITE_SPACE_OR_CONTROL' | 'FORBIDDEN_CHARACTER'

/** Bytes from here on would favour the first letters: 7 × 34 of 256 values are used, the others are thrown away. */
const UNBIASED_LIMIT = 256 - (256 % CODE_ALPHABET.length)

/**
 * Why a supplied code is refused, null when it is fine: 1 to 9 code points, no white space or control character, none
 * of `0`, `o`, `O` (section 4.5).
 */
export function codeProblem(code: string): CodeProblem | null {
  const length = [...code].length
  if (length === 0) return 'EMPTY'
  if (length > MAX_CODE_LENGTH) return 'TOO_LONG'
  if (/[\p{White_Space}\p{Cc}\p{Cs}\uFEFF]/u.test(code)) return 'WHITE_SPACE_OR_CONTROL'
  return /[0oO]/.test(code) ? 'FORBIDDEN_CHARACTER' : null
}

/**
 * What codes and slugs are compared by: trimmed and without case. Made here because databases fold case each in their
 * own way. Lower, upper, lower: `ß`, `ẞ` and `SS` meet only so.
 */
export function codeKey(text: string): string {
  return text.trim().normalize('NFC').toLowerCase().toUpperCase().toLowerCase().normalize('NFC')
}

/**
 * A code of 8 characters out of random bytes, every character equally likely. Null when too few bytes are usable:
 * about 7 % are thrown away, so 32 bytes always do in practice; call again with fresh ones otherwise.
 */
export function codeFromBytes(bytes: Uint8Array): string | null {
  const usable = [...bytes].filter((byte) => byte < UNBIASED_LIMIT).slice(0, CODE_LENGTH)
  if (usable.length < CODE_LENGTH) return null
  return usable.map((byte) => CODE_ALPHABET[byte % CODE_ALPHABET.length]).join('')
}
