import { sum, whole } from './money.ts'

/**
 * Splits `total` by weight into whole parts that sum up to it; ties go to the lowest index. With two weights this is
 * the largest remainder. With more, plain largest remainders can make a part shrink while the total grows, and a
 * bigger refund would pay commission out again; taking the remainder relative to the part's size never does.
 * No part passes its weight while the total does not pass Σ weights; weights that are all 0 give zeros.
 */
export function apportion(total: number, weights: readonly number[]): number[] {
  const sizes = weights.map(whole)
  const goal = whole(total)
  const all = sum(sizes)
  if (all === 0n) return sizes.map(() => 0)
  const parts = sizes.map((size) => (2n * goal * size + all) / (2n * all))
  for (let left = goal - sum(parts); left > 0n; left--) parts[next(sizes, parts)]! += 1n
  for (let over = sum(parts) - goal; over > 0n; over--) parts[last(sizes, parts)]! -= 1n
  return parts.map(Number)
}

/** The part whose next cent is due first: the smallest (2 × part + 1) ÷ size. */
function next(sizes: bigint[], parts: bigint[]): number {
  const due = (index: number) => 2n * parts[index]! + 1n
  return sizes.reduce((best, size, index) => (due(index) * sizes[best]! < due(best) * size ? index : best), 0)
}

/** The part whose newest cent was due last: the largest (2 × part − 1) ÷ size. */
function last(sizes: bigint[], parts: bigint[]): number {
  const due = (index: number) => 2n * parts[index]! - 1n
  return sizes.reduce((best, size, index) => (due(index) * sizes[best]! >= due(best) * size ? index : best), 0)
}
