/**
 * A number times 100, rounded half up, read from its shortest decimal text (`16.5`, `1e-7`, `1e+21`) in exact
 * arithmetic: 1.005 gives 101 although the binary number is a little less. Null unless the number is finite.
 * Halves of negative numbers go up too, towards zero.
 */
export function hundredthsOf(value: number): bigint | null {
  if (!Number.isFinite(value)) return null
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [units = '', fraction = ''] = mantissa.split('.')
  const digits = BigInt(units + fraction)
  const shift = Number(exponent) - fraction.length + 2
  if (shift >= 0) return digits * 10n ** BigInt(shift)
  const divisor = 10n ** BigInt(-shift)
  return floorDiv(2n * digits + divisor, 2n * divisor)
}

/** Hundredths as a number whose shortest text has at most two decimals: 1650 gives 16.5. */
export function fromHundredths(hundredths: number): number {
  return hundredths / 100
}

function floorDiv(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  return dividend < 0n && quotient * divisor !== dividend ? quotient - 1n : quotient
}
