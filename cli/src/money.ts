// ISO 4217, where it is not two. `Intl` is no source: it tells how people write money today, HUF and IDR without
// decimals, and an amount would come out a hundred times too large.
const DIGITS: readonly [digits: number, codes: string][] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
]

/** Digits after the point in this currency: 2 for USD, 0 for JPY, 3 for KWD. */
export const minorUnitDigits = (currency: string): number =>
  DIGITS.find(([, codes]) => codes.split(' ').includes(currency))?.[0] ?? 2

/** Minor units as a decimal number: 144000 gives `1440.00`. Integers all the way. */
export function toDecimal(cents: number | bigint, currency: string): string {
  const digits = minorUnitDigits(currency)
  const text = String(cents)
    .replace('-', '')
    .padStart(digits + 1, '0')
  const units = text.slice(0, text.length - digits)
  return `${cents < 0 ? '-' : ''}${units}${digits ? `.${text.slice(-digits)}` : ''}`
}

/** Adds up minor units exactly; numbers would skip cents above 2^53. */
export const sumCents = (values: readonly number[]): bigint =>
  values.reduce<bigint>((total, cents) => total + BigInt(cents), 0n)

/** For people: `1,440.00 USD`. */
export function formatMoney(cents: number | bigint, currency: string): string {
  const [units = '', rest] = toDecimal(cents, currency).split('.')
  const grouped = units.replace(/\B(?=(\d{3})+$)/g, ',')
  return `${grouped}${rest === undefined ? '' : `.${rest}`} ${currency}`
}

/** What somebody typed as an amount, in minor units; undefined when it is none. Grouping commas and the currency are fine. */
export function parseTypedAmount(text: string, currency: string): number | undefined {
  const digits = minorUnitDigits(currency)
  const bare = text.trim().replace(new RegExp(`^${currency}\\s*|\\s*${currency}$`, 'i'), '')
  const fraction = digits ? `(?:\\.(\\d{${digits}}))?` : '()'
  const match = new RegExp(`^(-?)(\\d{1,3}(?:,\\d{3})+|\\d+)${fraction}$`).exec(bare)
  if (!match) return undefined
  const [, sign = '', units = '', rest = '0'.repeat(digits)] = match
  const cents = Number(units.replaceAll(',', '') + rest)
  return Number.isSafeInteger(cents) ? (sign ? -cents : cents) : undefined
}
