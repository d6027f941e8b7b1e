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
