import { withoutInvisible } from './normalize.ts'

const MAX_SLUG_LENGTH = 60
const FALLBACK = 'affiliate'

/** Letters that do not decompose into an ASCII letter and a mark. */
const LETTERS: Record<string, string> = {
  æ: 'ae',
  đ: 'd',
  ð: 'd',
  ħ: 'h',
  ı: 'i',
  ł: 'l',
  ø: 'o',
  œ: 'oe',
  ß: 'ss',
  þ: 'th',
  ŧ: 't',
}

/** The ASCII slug of a name: `Zoë Ångström` gives `zoe-angstrom`; a name without usable letters gives `affiliate`. */
export function slugFrom(name: string): string {
  const ascii = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/['’]/g, '')
    .replace(/[^a-z0-9]/g, (letter) => (Object.hasOwn(LETTERS, letter) ? LETTERS[letter]! : '-'))
  const words = ascii.replace(/-+/g, '-').replace(/^-/, '').slice(0, MAX_SLUG_LENGTH).replace(/-$/, '')
  return words || FALLBACK
}

/** The n-th form of a slug to try, from 1: `zoe`, `zoe-2`, `zoe-3`. */
export function slugAttempt(slug: string, attempt: number): string {
  return attempt <= 1 ? slug : `${slug}-${attempt}`
}

/** The alphabet of generated codes: 34 characters without look-alikes. */
export const CODE_ALPHABET = 'ABCDEFGHIJKLMNPQRSTUVWXYZ123456789'
/** Length of a generated code. */
export const CODE_LENGTH = 8
/** Maximum code points of a supplied code. */
export const MAX_CODE_LENGTH = 9

/** Why a supplied code is rejected. */
type CodeProblem = 'EMPTY' | 'TOO_LONG' | 'NOT_VISIBLE' | 'FORBIDDEN_CHARACTER'

/** Maximum code points of an alias. */
const MAX_ALIAS_LENGTH = 100

/**
 * Bytes from this value on are discarded, because they would favor the first letters: 7 × 34 of 256 values are used.
 */
const UNBIASED_LIMIT = 256 - (256 % CODE_ALPHABET.length)

/**
 * Returns why a supplied code is rejected, or null when it is valid: 1 to 9 code points as sent, no whitespace, control,
 * format or direction character, and none of `0`, `o`, `O`, neither as sent nor in normalized form.
 */
export const codeProblem = (code: string): CodeProblem | null =>
  nameProblem(code, MAX_CODE_LENGTH) ?? (/[0oO]/.test(code + codeKey(code)) ? 'FORBIDDEN_CHARACTER' : null)

/** Whether a text can be an alias: 1 to 100 code points as sent, otherwise like a code, but with any letters and digits. */
export const isValidAlias = (text: string): boolean => nameProblem(text, MAX_ALIAS_LENGTH) === null

function nameProblem(name: string, maxLength: number): Exclude<CodeProblem, 'FORBIDDEN_CHARACTER'> | null {
  const length = [...name].length
  if (length === 0) return 'EMPTY'
  if (length > maxLength) return 'TOO_LONG'
  // U+2800 is the blank Braille pattern, which Unicode counts as a symbol.
  if (/[\p{White_Space}\p{Cc}\p{Cf}\p{Cs}\u2800]/u.test(name)) return 'NOT_VISIBLE'
  // A name that has only fillers and variation selectors is invisible.
  return codeKey(name) === '' ? 'EMPTY' : null
}

/**
 * The allowed code most similar to a rejected one: `Q` and `q` instead of `0`, `O`, and `o`, without invisible
 * characters, and cut to the maximum length. Null if nothing is left.
 */
export function nearestCode(code: string): string | null {
  const letters = [...code.normalize('NFKC')].map((letter) => letter.replace(/[0O]/, 'Q').replace('o', 'q'))
  const allowed = letters.filter((letter) => codeProblem(letter) === null).slice(0, MAX_CODE_LENGTH)
  return codeProblem(allowed.join('')) === null ? allowed.join('') : null
}

/** Whether a code mixes Latin letters with Cyrillic or Greek ones, which look alike. */
export function mixesScripts(code: string): boolean {
  return /\p{Script=Latin}/u.test(code) && /[\p{Script=Cyrillic}\p{Script=Greek}]/u.test(code)
}

/**
 * The comparable form of codes and slugs: Unicode form NFKC, without invisible characters, case-folded, trimmed.
 * Computed here because databases fold case differently. Lower, upper, lower, so that `ß`, `ẞ` and `SS` are equal.
 */
export function codeKey(text: string): string {
  const visible = withoutInvisible(text.normalize('NFKC'))
  return visible.toLowerCase().toUpperCase().toLowerCase().normalize('NFKC').trim()
}

/**
 * Returns a code of 8 characters from random bytes, every character equally likely, or null when too few bytes are usable.
 * About 7% are discarded, so 32 bytes suffice in practice; otherwise call again with new bytes.
 */
export function codeFromBytes(bytes: Uint8Array): string | null {
  const usable = [...bytes].filter((byte) => byte < UNBIASED_LIMIT).slice(0, CODE_LENGTH)
  if (usable.length < CODE_LENGTH) return null
  return usable.map((byte) => CODE_ALPHABET[byte % CODE_ALPHABET.length]).join('')
}
