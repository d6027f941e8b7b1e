import { withoutInvisible } from './normalize.ts'

const MAX_SLUG_LENGTH = 60
const FALLBACK = 'affiliate'

/** Letters that have no decomposition into an ASCII letter and a mark. */
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

/** The ASCII slug of a name: `Zoë Ångström` gives `zoe-angstrom`; a name without such letters gives `affiliate`. */
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

/** The first form that nobody has taken. */
export function freeSlug(slug: string, taken: ReadonlySet<string>): string {
  let attempt = 1
  while (taken.has(slugAttempt(slug, attempt))) attempt += 1
  return slugAttempt(slug, attempt)
}

/** Everything a generated code may hold: 34 characters, none of which is mistaken for another. */
export const CODE_ALPHABET = 'ABCDEFGHIJKLMNPQRSTUVWXYZ123456789'
/** Length of a generated code (section 4.5). */
export const CODE_LENGTH = 8
/** Most code points of a supplied code (section 4.5). */
export const MAX_CODE_LENGTH = 9

/** Why a supplied code is refused. */
export type CodeProblem = 'EMPTY' | 'TOO_LONG' | 'NOT_VISIBLE' | 'FORBIDDEN_CHARACTER'

/** Bytes from here on would favour the first letters: 7 × 34 of 256 values are used, the others are thrown away. */
const UNBIASED_LIMIT = 256 - (256 % CODE_ALPHABET.length)

/**
 * Why a supplied code is refused, null when it is fine: 1 to 9 code points as sent, no whitespace, control, format or
 * direction character, none of `0`, `o`, `O`, neither as sent nor in the form it is compared by.
 */
export function codeProblem(code: string): CodeProblem | null {
  const length = [...code].length
  if (length === 0) return 'EMPTY'
  if (length > MAX_CODE_LENGTH) return 'TOO_LONG'
  if (/[\p{White_Space}\p{Cc}\p{Cf}\p{Cs}]/u.test(code)) return 'NOT_VISIBLE'
  const key = codeKey(code)
  // Fillers and variation selectors alone look like nothing.
  if (key === '') return 'EMPTY'
  return /[0oO]/.test(code + key) ? 'FORBIDDEN_CHARACTER' : null
}

/** Whether a code mixes Latin letters with those that have look-alikes among them, which reads like another code. */
export function mixesScripts(code: string): boolean {
  return /\p{Script=Latin}/u.test(code) && /[\p{Script=Cyrillic}\p{Script=Greek}]/u.test(code)
}

/**
 * The form in which codes and slugs are compared: Unicode form NFKC, nothing invisible, without case, trimmed. Made here
 * because databases fold case each in their own way. Lower, upper, lower: `ß`, `ẞ` and `SS` meet only so.
 */
export function codeKey(text: string): string {
  const visible = withoutInvisible(text.normalize('NFKC'))
  return visible.toLowerCase().toUpperCase().toLowerCase().normalize('NFKC').trim()
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
