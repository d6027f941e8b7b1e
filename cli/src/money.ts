// ISO 4217 currencies whose minor unit is not two digits. `Intl` reflects everyday use, such as no digits for HUF and
// IDR, which would make amounts a hundred times too large. `server/src/core/currencies.ts` has a copy; a test keeps them
// equal.
const DIGITS: readonly [digits: number, codes: string][] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
]

/** Returns the number of minor-unit digits: 2 for USD, 0 for JPY, 3 for KWD. */
export const minorUnitDigits = (currency: string): number =>
  DIGITS.find(([, codes]) => codes.split(' ').includes(currency))?.[0] ?? 2

/** Formats minor units as a decimal number without floating-point arithmetic: 144000 USD is `1440.00`. */
export function toDecimal(cents: number | bigint, currency: string): string {
  const digits = minorUnitDigits(currency)
  const text = String(cents)
    .replace('-', '')
    .padStart(digits + 1, '0')
  const units = text.slice(0, text.length - digits)
  return `${cents < 0 ? '-' : ''}${units}${digits ? `.${text.slice(-digits)}` : ''}`
}

/** Adds minor units exactly, even above 2^53. */
export const sumCents = (values: readonly number[]): bigint =>
  values.reduce<bigint>((total, cents) => total + BigInt(cents), 0n)

/** Formats an amount for display: `1,440.00 USD`. */
export function formatMoney(cents: number | bigint, currency: string): string {
  const [units = '', rest] = toDecimal(cents, currency).split('.')
  const grouped = units.replace(/\B(?=(\d{3})+$)/g, ',')
  return `${grouped}${rest === undefined ? '' : `.${rest}`} ${currency}`
}

/**
 * Parses an amount that a user typed, with or without grouping commas and the currency code.
 *
 * @returns minor units, or undefined when the text is not an amount.
 */
export function parseTypedAmount(text: string, currency: string): number | undefined {
  const digits = minorUnitDigits(currency)
  const match = /^(-?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?$/.exec(withoutCurrency(text.trim(), currency))
  const [, sign = '', units = '', rest = '0'.repeat(digits)] = match ?? []
  if (!match || rest.length !== digits) return undefined
  const cents = Number(units.replaceAll(',', '') + rest)
  return Number.isSafeInteger(cents) ? (sign ? -cents : cents) : undefined
}

function withoutCurrency(text: string, currency: string): string {
  const [upper, code] = [text.toUpperCase(), currency.toUpperCase()]
  if (code === '') return text
  if (upper.endsWith(code)) return text.slice(0, -code.length).trimEnd()
  return upper.startsWith(code) ? text.slice(code.length).trimStart() : text
}
