import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  allocateLargestRemainder,
  allocateMonotonic,
  basisPointsOf,
  mulDiv,
  toBigInt,
} from '../../server/src/engine/money.ts'

const RUNS = { numRuns: 500 }
const total = (values: number[]) => values.reduce((sum, value) => sum + value, 0)

test('anything but a positive integer counts as 0', () => {
  for (const value of [0, -0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) expect(toBigInt(value)).toBe(0n)
  expect(toBigInt(2_147_483_647)).toBe(2_147_483_647n)
})

test('shares are rounded half up, and 0 of 0 is 0', () => {
  expect([mulDiv(1, 1, 2), mulDiv(1, 1, 3), mulDiv(1000, 2, 3), mulDiv(5, 1, 0)]).toEqual([1, 0, 667, 0])
  expect(basisPointsOf(2_147_483_647, 10_000)).toBe(2_147_483_647)
})

test('basis points follow (cents * bps + 5000) div 10000', () => {
  fc.assert(
    fc.property(fc.nat(2_147_483_647), fc.nat(10_000), (cents, bps) => {
      expect(basisPointsOf(cents, bps)).toBe(Number((BigInt(cents) * BigInt(bps) + 5000n) / 10_000n))
    }),
    RUNS,
  )
})

test('ties go to the first part', () => {
  expect(allocateLargestRemainder(1n, [1n, 1n, 1n])).toEqual([1n, 0n, 0n])
  expect(allocateMonotonic(1, [1, 1])).toEqual([1, 0])
  expect(allocateMonotonic(1, [1, 1, 1])).toEqual([1, 0, 0])
  expect(allocateMonotonic(2, [1, 1, 1])).toEqual([1, 1, 0])
  expect(allocateMonotonic(5, [0, 0])).toEqual([0, 0])
})

test('cents go one by one to the part whose next cent is due first', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(12), { minLength: 1, maxLength: 5 }), fc.nat(), (sizes, some) => {
      const goal = some % (total(sizes) + 1)
      const parts = sizes.map(() => 0)
      for (let cent = 0; cent < goal; cent++) {
        const due = sizes.map((size, index) => (size > 0 ? (2 * parts[index]! + 1) / size : Number.POSITIVE_INFINITY))
        parts[due.indexOf(Math.min(...due))]! += 1
      }
      expect(allocateMonotonic(goal, sizes)).toEqual(parts)
    }),
    { numRuns: 2000 },
  )
})

test('largest remainders: each part is its exact share rounded down or up, larger remainders first', () => {
  fc.assert(
    fc.property(
      fc.bigInt(0n, 10n ** 12n),
      fc.array(fc.bigInt(0n, 10n ** 19n), { minLength: 1, maxLength: 8 }),
      (amount, weights) => {
        const all = weights.reduce((sum, weight) => sum + weight, 0n)
        const parts = allocateLargestRemainder(amount, weights)
        if (all === 0n) {
          expect(parts).toEqual(weights.map(() => 0n))
          return
        }
        expect(parts.reduce((sum, part) => sum + part, 0n)).toBe(amount)
        const rests = weights.map((weight) => (amount * weight) % all)
        const raised = parts.map((part, index) => part - (amount * weights[index]!) / all)
        expect(raised.every((extra) => extra === 0n || extra === 1n)).toBe(true)
        const isBefore = (a: number, b: number) => rests[a]! > rests[b]! || (rests[a] === rests[b] && a < b)
        raised.forEach((extra, index) => {
          if (extra === 0n) expect(raised.some((other, at) => other === 1n && isBefore(index, at))).toBe(false)
        })
      },
    ),
    RUNS,
  )
})

const weights = fc.array(fc.oneof(fc.nat(20), fc.nat(2_147_483_647)), { minLength: 1, maxLength: 6 })

test('shares add up, never pass their part and never shrink while the sum grows', () => {
  fc.assert(
    fc.property(weights, fc.nat(), fc.nat(30), (parts, some, more) => {
      const all = total(parts)
      const small = some % (all + 1)
      const large = Math.min(all, small + more)
      const before = allocateMonotonic(small, parts)
      const after = allocateMonotonic(large, parts)
      expect(total(before)).toBe(small)
      expect(total(after)).toBe(large)
      after.forEach((value, index) => {
        expect(value).toBeGreaterThanOrEqual(before[index]!)
        expect(value).toBeLessThanOrEqual(parts[index]!)
      })
    }),
    RUNS,
  )
})

test('two shares are the largest remainder', () => {
  fc.assert(
    fc.property(fc.nat(100_000), fc.nat(100_000), fc.nat(), (a, b, some) => {
      fc.pre(a + b > 0)
      const sum = some % (a + b + 1)
      const lower = Math.floor((sum * a) / (a + b))
      const isUp = 2 * ((sum * a) % (a + b)) >= a + b
      expect(allocateMonotonic(sum, [a, b])).toEqual([lower + Number(isUp), sum - lower - Number(isUp)])
    }),
    RUNS,
  )
})
