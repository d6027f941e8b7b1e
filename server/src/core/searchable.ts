/** Letters that Unicode does not decompose. */
const PLAIN: Record<string, string> = { ł: 'l', ø: 'o', đ: 'd', ð: 'd', þ: 'th', æ: 'ae', œ: 'oe', ħ: 'h', ŧ: 't' }
const PLAIN_LETTERS = /[łøđðþæœħŧ]/g
/** A letter with accents. Marks of other scripts can be vowels. */
const ACCENTS = /([\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])[\u0300-\u036f]+/gu

/**
 * The searchable texts, one per line. Letter case, accents, apostrophes, and hyphens are folded here, so that both
 * databases find the same rows. Folding to lower, upper and lower case makes `ß` equal `SS`; both small sigmas are
 * equal.
 */
export const searchable = (texts: (string | null)[]): string =>
  texts
    .filter((text) => text !== null)
    .map((text) => text.replaceAll('\n', ' '))
    .join('\n')
    .normalize('NFC')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFD')
    .replace(ACCENTS, '$1')
    .replace(PLAIN_LETTERS, (letter) => PLAIN[letter] ?? letter)
    .replace(/[‘’ʼʻ′´`]/g, "'")
    .replace(/[‐‑‒–]/g, '-')
    .replace(/[\u00a0\u202f]/g, ' ')
    .normalize('NFC')
