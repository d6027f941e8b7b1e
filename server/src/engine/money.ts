/**
 * Integer arithmetic on money. Products such as cents × basis points pass 2^53, so everything multiplies in BigInt and
 * only results become numbers again.
 */

/**
 * A whole, non-negative number as BigInt. Facts were validated when they came in; anything else counts as nothing,
 * because a decision must never break off half way.
 */
export function whole(value: number): bigint {
  return Number.isInteger(value) && value > 0 ? BigInt(value) : 0n
}

/** Σ of the values. */
export function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n)
}

/** The sum as a number; null when no number holds it exactly. */
export function exactSum(values: readonly (number | bigint)[]): number | null {
  let total = 0
  for (const value of values) {
    total += typeof value === 'number' ? value : Number.NaN
    // As long as every partial sum is safe, it is exact; else only BigInt tells.
    if (!Number.isSafeInteger(total)) return exact(values.reduce<bigint>((all, one) => all + BigInt(one), 0n))
  }
  return total
}

/** The same value as a number; null beyond ±(2^53 − 1), where numbers skip cents. */
export function exact(value: bigint): number | null {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : null
}

/** value × numerator ÷ denominator, rounded half up; 0 when the denominator is 0. All whole and non-negative. */
export function share(value: number, numerator: number, denominator: number): number {
  const divisor = whole(denominator)
  if (divisor === 0n) return 0
  return Number((2n * whole(value) * whole(numerator) + divisor) / (2n * divisor))
}

/** Basis points of an amount in cents: (cents × bps + 5000) div 10000. */
export function bpsOf(cents: number, bps: number): number {
  return share(cents, bps, 10_000)
}

/**
 * Splits `total` by weight, largest remainder first, ties to the lowest index. The parts sum up to `total` unless every
 * weight is 0, and no part passes its weight while `total` is at most Σ weights.
 */
export function allocate(total: bigint, weights: readonly bigint[]): bigint[] {
  const all = sum(weights)
  if (all === 0n || total <= 0n) return weights.map(() => 0n)
  const parts = weights.map((weight) => (total * weight) / all)
  const order = weights
    .map((weight, index) => ({ index, rest: (total * weight) % all }))
    .sort((a, b) => (a.rest === b.rest ? a.index - b.index : a.rest > b.rest ? -1 : 1))
  const lucky = new Set(order.slice(0, Number(total - sum(parts))).map((entry) => entry.index))
  return parts.map((part, index) => (lucky.has(index) ? part + 1n : part))
}
