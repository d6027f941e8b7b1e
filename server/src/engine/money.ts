/**
 * Integer arithmetic on money. Products such as cents × basis points exceed 2^53, so multiplication uses BigInt and only
 * results are converted back to numbers.
 */

/**
 * Converts a non-negative integer to BigInt. Facts are validated on input; any other value becomes 0, because a decision
 * must not throw.
 */
export function toBigInt(value: number): bigint {
  return Number.isInteger(value) && value > 0 ? BigInt(value) : 0n
}

/** Σ of the values. */
export function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n)
}

/** The sum as a number. Null if it exceeds the safe range. */
export function exactSum(values: readonly (number | bigint)[]): number | null {
  let total = 0
  for (const value of values) {
    total += typeof value === 'number' ? value : Number.NaN
    // The sum is exact while every partial sum is safe; beyond that, BigInt decides.
    if (!Number.isSafeInteger(total))
      return toSafeNumber(values.reduce<bigint>((all, value) => all + BigInt(value), 0n))
  }
  return total
}

/** Converts to a number; null beyond ±(2^53 − 1), where numbers are not exact. */
export function toSafeNumber(value: bigint): number | null {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : null
}

/** value × numerator ÷ denominator, rounded half up; 0 when the denominator is 0. All arguments are non-negative integers. */
export function mulDiv(value: number, numerator: number, denominator: number): number {
  const divisor = toBigInt(denominator)
  if (divisor === 0n) return 0
  return Number((2n * toBigInt(value) * toBigInt(numerator) + divisor) / (2n * divisor))
}

/** Basis points of an amount in cents: (cents × bps + 5000) div 10000. */
export function basisPointsOf(cents: number, bps: number): number {
  return mulDiv(cents, bps, 10_000)
}

/**
 * Splits `total` by weight, largest remainder first, ties to the lowest index. The parts sum to `total` unless every
 * weight is 0, and no part exceeds its weight while `total` is at most Σ weights.
 */
export function allocateLargestRemainder(total: bigint, weights: readonly bigint[]): bigint[] {
  const all = sum(weights)
  if (all === 0n || total <= 0n) return weights.map(() => 0n)
  const parts = weights.map((weight) => (total * weight) / all)
  const order = weights
    .map((weight, index) => ({ index, rest: (total * weight) % all }))
    .sort((a, b) => (a.rest === b.rest ? a.index - b.index : a.rest > b.rest ? -1 : 1))
  const roundedUp = new Set(order.slice(0, Number(total - sum(parts))).map((entry) => entry.index))
  return parts.map((part, index) => (roundedUp.has(index) ? part + 1n : part))
}

/**
 * A number times a power of ten, computed exactly from its shortest decimal text (`16.5`, `1e-7`, `1e+21`): 1.15 with two
 * digits gives 115 although the binary number is slightly less. Null unless the result is whole, as for 1.005.
 */
export function scaleExactly(value: number, power: number): bigint | null {
  if (!Number.isFinite(value)) return null
  const [mantissa = '', exponent = '0'] = String(value).split('e')
  const [units = '', fraction = ''] = mantissa.split('.')
  const digits = BigInt(units + fraction)
  const shift = Number(exponent) - fraction.length + power
  if (shift >= 0) return digits * 10n ** BigInt(shift)
  const divisor = 10n ** BigInt(-shift)
  return digits % divisor === 0n ? digits / divisor : null
}

/** Hundredths as a number whose shortest text has at most two decimals: 1650 gives 16.5. */
export function hundredthsToNumber(hundredths: number): number {
  return hundredths / 100
}

/**
 * Splits `total` by weight into integers that sum to it; ties go to the lowest index. With two weights this is the largest
 * remainder method. With more, that method can shrink a part while the total grows, so that a larger refund would pay
 * commission out again; remainders relative to the size of the part (Webster's method) never do.
 * No part exceeds its weight while `total` is at most Σ weights; weights that are all 0 give zeros.
 */
export function allocateMonotonic(total: number, weights: readonly number[]): number[] {
  const sizes = weights.map(toBigInt)
  const goal = toBigInt(total)
  const all = sum(sizes)
  if (all === 0n) return sizes.map(() => 0)
  const parts = sizes.map((size) => (2n * goal * size + all) / (2n * all))
  for (let left = goal - sum(parts); left > 0n; left--) parts[nextDue(sizes, parts)]! += 1n
  for (let over = sum(parts) - goal; over > 0n; over--) parts[lastDue(sizes, parts)]! -= 1n
  return parts.map(Number)
}

/** The index of the part that receives the next cent: the smallest (2 × part + 1) ÷ size. */
function nextDue(sizes: bigint[], parts: bigint[]): number {
  const due = (index: number) => 2n * parts[index]! + 1n
  return sizes.reduce((best, size, index) => (due(index) * sizes[best]! < due(best) * size ? index : best), 0)
}

/** The index of the part that loses a cent first: the largest (2 × part − 1) ÷ size. */
function lastDue(sizes: bigint[], parts: bigint[]): number {
  const due = (index: number) => 2n * parts[index]! - 1n
  return sizes.reduce((best, size, index) => (due(index) * sizes[best]! >= due(best) * size ? index : best), 0)
}
