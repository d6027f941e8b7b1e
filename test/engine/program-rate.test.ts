import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { CommissionType } from '../../server/src/engine/facts.ts'
import { hundredthsToNumber, scaleExactly } from '../../server/src/engine/money.ts'
import {
  commissionPercentOf,
  discountError,
  patchRate,
  rateFromInput,
  withType,
} from '../../server/src/engine/program-rate.ts'

describe('commissionPercent', () => {
  test.each([
    ['PERCENT_OF_SALE', 16, 1600],
    ['PERCENT_OF_SALE', 16.5, 1650],
    ['PERCENT_OF_SALE', 0.01, 1],
    ['PERCENT_OF_SALE', 100, 10_000],
    ['FLAT_PER_ORDER', 16, 1600],
    ['FLAT_PER_ORDER', 1.15, 115],
    ['FLAT_PER_ITEM', 0.29, 29],
    ['FLAT_PER_ITEM', 250, 25_000],
    ['FLAT_PER_ITEM', 21_474_836.47, 2_147_483_647],
  ] as const)('a rate of type %s with %d is stored as %i', (commissionType, input, rate) => {
    expect(rateFromInput(commissionType, input, 2)).toEqual({ ok: true, rate: { commissionType, rate } })
  })

  test.each([
    ['PERCENT_OF_SALE', 0, 'NOT_POSITIVE'],
    ['PERCENT_OF_SALE', -0, 'NOT_POSITIVE'],
    ['PERCENT_OF_SALE', -5, 'NOT_POSITIVE'],
    ['PERCENT_OF_SALE', 0.0049, 'TOO_PRECISE'],
    ['PERCENT_OF_SALE', 1e-7, 'TOO_PRECISE'],
    ['PERCENT_OF_SALE', 5e-324, 'TOO_PRECISE'],
    ['PERCENT_OF_SALE', Number.NaN, 'NOT_POSITIVE'],
    ['PERCENT_OF_SALE', Number.POSITIVE_INFINITY, 'NOT_POSITIVE'],
    ['PERCENT_OF_SALE', 12.345, 'TOO_PRECISE'],
    ['PERCENT_OF_SALE', 33.333333333333336, 'TOO_PRECISE'],
    ['PERCENT_OF_SALE', 100.004, 'TOO_PRECISE'],
    ['PERCENT_OF_SALE', 100.01, 'ABOVE_100_PERCENT'],
    ['PERCENT_OF_SALE', 101, 'ABOVE_100_PERCENT'],
    ['PERCENT_OF_SALE', 1e21, 'ABOVE_100_PERCENT'],
    ['FLAT_PER_ORDER', 0.004, 'TOO_PRECISE'],
    ['FLAT_PER_ORDER', 12.345, 'TOO_PRECISE'],
    ['FLAT_PER_ORDER', 21_474_836.48, 'TOO_LARGE'],
    ['FLAT_PER_ITEM', 1e21, 'TOO_LARGE'],
    ['FLAT_PER_ITEM', Number.MAX_VALUE, 'TOO_LARGE'],
  ] as const)('a rate of type %s with %d is rejected: %s', (commissionType, input, reason) => {
    expect(rateFromInput(commissionType, input, 2)).toEqual({ ok: false, reason })
  })

  test.each([
    ['FLAT_PER_ORDER', 500, 0, 500],
    ['FLAT_PER_ITEM', 1.5, 3, 1500],
    ['PERCENT_OF_SALE', 16.5, 0, 1650],
  ] as const)(
    'a rate of type %s with %d in a currency of %i digits is stored as %i',
    (commissionType, input, digits, rate) => {
      expect(rateFromInput(commissionType, input, digits)).toEqual({ ok: true, rate: { commissionType, rate } })
    },
  )

  test('16% becomes 16 units of a currency without cents', () => {
    const percent = { commissionType: 'PERCENT_OF_SALE' as const, rate: 1600 }
    expect(withType(percent, 'FLAT_PER_ORDER', 0)).toEqual({
      ok: true,
      rate: { commissionType: 'FLAT_PER_ORDER', rate: 16 },
    })
  })

  test('is zero for flat types and a percentage else', () => {
    expect(commissionPercentOf({ commissionType: 'PERCENT_OF_SALE', rate: 1650 })).toBe(16.5)
    expect(commissionPercentOf({ commissionType: 'FLAT_PER_ORDER', rate: 1650 })).toBe(0)
    expect(commissionPercentOf({ commissionType: 'FLAT_PER_ITEM', rate: 1650 })).toBe(0)
  })
})

describe('PATCH', () => {
  const percent = { commissionType: 'PERCENT_OF_SALE' as const, rate: 1600 }
  const perOrder = { commissionType: 'FLAT_PER_ORDER' as const, rate: 1234 }

  test.each([
    [percent, 'FLAT_PER_ORDER', 1600],
    [percent, 'FLAT_PER_ITEM', 1600],
    [percent, 'PERCENT_OF_SALE', 1600],
    [perOrder, 'FLAT_PER_ITEM', 1234],
    [perOrder, 'FLAT_PER_ORDER', 1234],
  ] as const)('the rate %j changed to the type %s alone is stored as %i', (stored, commissionType, rate) => {
    expect(withType(stored, commissionType, 2)).toEqual({ ok: true, rate: { commissionType, rate } })
    expect(patchRate(stored, { commissionType }, 2)).toEqual({ ok: true, rate: { commissionType, rate } })
  })

  test('a flat amount does not become a percentage implicitly', () => {
    const rejection = { ok: false, reason: 'NEEDS_COMMISSION_PERCENT' }
    expect(withType(perOrder, 'PERCENT_OF_SALE', 2)).toEqual(rejection)
    expect(patchRate({ commissionType: 'FLAT_PER_ITEM', rate: 5 }, { commissionType: 'PERCENT_OF_SALE' }, 2)).toEqual(
      rejection,
    )
  })

  test('a value alone is read by the stored type, with a type by the new one', () => {
    expect(patchRate(perOrder, { commissionPercent: 2.5 }, 2)).toEqual({ ok: true, rate: { ...perOrder, rate: 250 } })
    expect(patchRate(perOrder, { commissionType: 'PERCENT_OF_SALE', commissionPercent: 2.5 }, 2)).toEqual({
      ok: true,
      rate: { commissionType: 'PERCENT_OF_SALE', rate: 250 },
    })
    expect(patchRate(percent, { commissionPercent: 101 }, 2)).toEqual({ ok: false, reason: 'ABOVE_100_PERCENT' })
    expect(patchRate(percent, { commissionType: 'FLAT_PER_ITEM', commissionPercent: 101 }, 2).ok).toBe(true)
    expect(patchRate(percent, {}, 2)).toEqual({ ok: true, rate: percent })
  })
})

describe('discountValue', () => {
  test.each([
    ['PERCENT', 0, 2, null],
    ['PERCENT', 12.5, 0, null],
    ['PERCENT', 100, 2, null],
    ['FIXED', 9.99, 2, null],
    ['FIXED', 9.999, 3, null],
    ['FIXED', 21_474_836.47, 2, null],
    ['PERCENT', 12.345, 3, 'TOO_PRECISE'],
    ['FIXED', 9.999, 2, 'TOO_PRECISE'],
    ['FIXED', 0.5, 0, 'TOO_PRECISE'],
    ['PERCENT', -1, 2, 'NEGATIVE'],
    ['PERCENT', Number.NaN, 2, 'NEGATIVE'],
    ['PERCENT', 100.5, 2, 'ABOVE_100_PERCENT'],
    ['FIXED', -0.01, 2, 'NEGATIVE'],
    ['FIXED', 21_474_836.48, 2, 'TOO_LARGE'],
  ] as const)('a discount of type %s with %d in a currency of %i digits: %s', (type, value, digits, error) => {
    expect(discountError(type, value, digits)).toBe(error)
  })
})

/** Another reading of the same text, digit by digit, with no shared code. */
function independentHundredths(value: number): bigint | null {
  const [, sign, units, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(`${value}`)!
  const point = units!.length + Number(exponent) + 2
  const digits = units! + fraction
  const padded = point > 0 ? digits.padEnd(point, '0') : '0'.repeat(1 - point) + digits
  const cut = point > 0 ? point : 1
  const whole = BigInt(padded.slice(0, cut) || '0')
  const tail = padded.slice(cut)
  if (/[1-9]/.test(tail)) return null
  return sign === '' ? whole : -whole
}

const numbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.double({ min: 0, max: 200, noNaN: true }),
  fc.integer({ min: -1_000_000, max: 300_000_000 }).map((value) => value / 1000),
  fc.constantFrom(1e-7, 1e21, 1.5e-7, 123e-20, 1.005, 0.005, 0.015, -0.005, 2 ** 53, 1.7976931348623157e308, 5e-324),
)

test('hundredths agree with an independent reading of the decimal text', () => {
  fc.assert(
    fc.property(numbers, (value) => {
      expect(scaleExactly(value, 2)).toBe(independentHundredths(value))
    }),
    { numRuns: 3000 },
  )
})

test('every stored rate reads back as itself', () => {
  const types = fc.constantFrom<CommissionType[]>('PERCENT_OF_SALE', 'FLAT_PER_ORDER', 'FLAT_PER_ITEM')
  fc.assert(
    fc.property(types, fc.integer({ min: 1, max: 2_147_483_647 }), (commissionType, stored) => {
      const rate = commissionType === 'PERCENT_OF_SALE' ? 1 + (stored % 10_000) : stored
      expect(rateFromInput(commissionType, hundredthsToNumber(rate), 2)).toEqual({
        ok: true,
        rate: { commissionType, rate },
      })
      expect(`${hundredthsToNumber(rate)}`).toMatch(/^\d+(\.\d{1,2})?$/)
    }),
    { numRuns: 3000 },
  )
})

test('an accepted rate is always positive and within its bounds', () => {
  fc.assert(
    fc.property(numbers, (value) => {
      const percent = rateFromInput('PERCENT_OF_SALE', value, 2)
      if (percent.ok)
        expect(percent.rate.rate).toSatisfy((rate: number) => Number.isInteger(rate) && rate >= 1 && rate <= 10_000)
      const flat = rateFromInput('FLAT_PER_ITEM', value, 2)
      if (flat.ok)
        expect(flat.rate.rate).toSatisfy((rate: number) => Number.isInteger(rate) && rate >= 1 && rate <= 2 ** 31 - 1)
    }),
  )
})
