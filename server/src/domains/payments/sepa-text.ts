// The SEPA character set: letters without accents, digits, and / - ? : ( ) . , ' + space.
const ALLOWED = /[^A-Za-z0-9/\-?:().,'+ ]/g

/** Letters that do not decompose into a letter of the character set. */
const LETTERS: Record<string, string> = {
  ß: 'ss',
  æ: 'ae',
  Æ: 'AE',
  œ: 'oe',
  Œ: 'OE',
  ø: 'o',
  Ø: 'O',
  đ: 'd',
  Đ: 'D',
  ð: 'd',
  Ð: 'D',
  þ: 'th',
  Þ: 'TH',
  ł: 'l',
  Ł: 'L',
  ħ: 'h',
  Ħ: 'H',
  ı: 'i',
  ŋ: 'n',
  Ŋ: 'N',
  ŧ: 't',
  Ŧ: 'T',
  '&': '+',
  '’': "'",
  '‘': "'",
  '–': '-',
  '—': '-',
}

/** The European Payments Council's transliteration for Greek, and Bulgarian law's for Cyrillic. */
const SCRIPTS: [from: string, to: string][] = [
  ['α β γ δ ε ζ η θ ι κ λ μ ν ξ ο π ρ σ ς τ υ φ χ ψ ω', 'a v g d e z i th i k l m n x o p r s s t y f ch ps o'],
  [
    'а б в г д е ж з и й к л м н о п р с т у ф х ц ч ш щ ъ ы ь э ю я є і ї ґ ѓ ј љ њ ќ џ ђ ћ',
    'a b v g d e zh z i y k l m n o p r s t u f h ts ch sh sht a y y e yu ya ye i yi g g j lj nj k dz dj c',
  ],
]

for (const [from, to] of SCRIPTS) {
  const letters = to.split(' ')
  for (const [i, letter] of from.split(' ').entries()) {
    const latin = letters[i] ?? ''
    LETTERS[letter] = latin
    LETTERS[letter.toUpperCase()] ??= latin.charAt(0).toUpperCase() + latin.slice(1)
  }
}

/**
 * Converts text to the SEPA character set: accents are dropped, Greek and Cyrillic letters are transliterated, and
 * anything else becomes a full stop.
 *
 * @param maxLength text is cut off after this many characters
 */
export function toSepaText(text: string, maxLength: number): string {
  const latin = [...text.normalize('NFC')].map((letter) => LETTERS[letter] ?? withoutMarks(letter)).join('')
  return latin.replace(/\s+/g, ' ').replace(ALLOWED, '.').trim().slice(0, maxLength).trim()
}

function withoutMarks(letter: string): string {
  const base = letter.normalize('NFKD').replace(/\p{M}/gu, '')
  return [...base].map((character) => LETTERS[character] ?? character).join('')
}
