/** ISO 4217 currencies without two digits. `Intl` has the digits of everyday use instead, such as none for HUF. */
const DIGITS: Record<string, number> = {
  ...digits(0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'),
  ...digits(3, 'BHD IQD JOD KWD LYD OMR TND'),
  ...digits(4, 'CLF UYW'),
}

function digits(count: number, currencies: string): Record<string, number> {
  return Object.fromEntries(currencies.split(' ').map((currency) => [currency, count]))
}

/** The number of minor-unit digits of a currency: 2 for USD and for an unknown one, 0 for JPY, 3 for KWD. */
export const minorUnitDigits = (currency: string): number => DIGITS[currency] ?? 2
