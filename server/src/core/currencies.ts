/**
 * ISO 4217 currencies whose minor unit is not two digits. `Intl` reflects everyday use, such as no digits for HUF.
 * `cli/src/money.ts` has a copy; a test keeps them equal.
 */
const CURRENCIES_BY_DIGITS: readonly [digits: number, currencies: string][] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
]
const DIGITS = new Map(
  CURRENCIES_BY_DIGITS.flatMap(([digits, currencies]) => currencies.split(' ').map((currency) => [currency, digits])),
)

/** A currency's number of minor-unit digits: 2 for USD and unknown currencies, 0 for JPY, 3 for KWD. */
export const minorUnitDigits = (currency: string): number => DIGITS.get(currency) ?? 2

/** Minor units as users read them: `1,440.00 USD`. */
export function money(cents: number | bigint, currency: string): string {
  const [whole = '', fraction] = toUnits(cents < 0 ? -cents : cents, currency).split('.')
  const units = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return `${cents < 0 ? '−' : ''}${units}${fraction === undefined ? '' : `.${fraction}`} ${currency}`
}

/** An amount in currency units, with exactly the currency's digits: `-14.40`. */
export function toUnits(cents: number | bigint, currency: string): string {
  const digits = minorUnitDigits(currency)
  const text = String(cents < 0 ? -cents : cents).padStart(digits + 1, '0')
  const whole = text.slice(0, text.length - digits)
  return `${cents < 0 ? '-' : ''}${whole}${digits ? `.${text.slice(-digits)}` : ''}`
}
