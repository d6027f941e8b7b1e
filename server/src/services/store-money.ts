const digitsByCurrency = new Map<string, number>()

/** How many decimals a currency has: 2 for USD, 0 for JPY, 3 for KWD; 2 for one that nobody knows. */
export function digitsOf(currency: string): number {
  let digits = digitsByCurrency.get(currency)
  if (digits === undefined) {
    digits = /^[A-Z]{3}$/.test(currency)
      ? (new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2)
      : 2
    digitsByCurrency.set(currency, digits)
  }
  return digits
}

/**
 * An amount in currency units, `"199.65"` or `199.65`, in minor units: exact, decimals beyond the currency's rounded
 * half away from zero. Null for what is no amount.
 */
export function minorUnits(amount: string | number | null | undefined, currency: string): bigint | null {
  const match = /^([+-]?)(\d{1,13})(?:\.(\d*))?$/.exec(String(amount ?? '').trim())
  if (!match) return null
  const [, sign, units = '0', fraction = ''] = match
  const digits = digitsOf(currency)
  const padded = fraction.padEnd(digits + 1, '0')
  const minor = BigInt(units + padded.slice(0, digits)) + (Number(padded[digits]) >= 5 ? 1n : 0n)
  return sign === '-' ? -minor : minor
}
