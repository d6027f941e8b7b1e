import { expect, test } from 'vitest'
import { typedAmount, typedCents } from '../../server/src/dashboard/kit/amount-input.ts'
import { change, chart } from '../../server/src/dashboard/kit/chart.ts'
import { money } from '../../server/src/dashboard/kit/format.ts'
import { typedRate } from '../../server/src/dashboard/programs/program-form.ts'

test.each([
  [144_000, 'USD', '1,440.00 USD'],
  [5, 'USD', '0.05 USD'],
  [-123_456_789, 'EUR', '−1,234,567.89 EUR'],
  [1440, 'JPY', '1,440 JPY'],
  [-1, 'JPY', '−1 JPY'],
  [1_234_567, 'KWD', '1,234.567 KWD'],
  [0, 'USD', '0.00 USD'],
])('%i of %s is formatted as %s and parsed back', (cents, currency, text) => {
  expect(money(cents, currency)).toBe(text)
  expect(typedCents(text, currency)).toBe(cents)
})

test.each([
  ['1440', 144_000],
  [' 1,440.00 ', 144_000],
  ['1440.00usd', 144_000],
  ['1 440.00', 144_000],
  ['1\u202f440', 144_000],
  ['USD 1440', 144_000],
])('%j is parsed as %i cents', (text, cents) => {
  expect(typedCents(text, 'USD')).toBe(cents)
})

// A decimal comma is not a separator of thousands.
test.each([
  '1440.0',
  '1440.005',
  '1.440,00',
  '',
  '12e3',
  '10,50',
  '1,44',
  '1440,00',
  '1,4400',
  '1,440,',
  '1.440',
  '99999999999999999',
])('%j is not an amount', (text) => {
  expect(typedCents(text, 'USD')).toBeUndefined()
})

test.each([
  ['FLAT_PER_ORDER', 500, 'JPY', '500'],
  ['FLAT_PER_ITEM', 500, 'USD', '5.00'],
  ['FLAT_PER_ITEM', 1500, 'KWD', '1.500'],
  ['PERCENT_OF_SALE', 1650, 'JPY', '16.5'],
])('a rate of %s of %i in %s is typed as %s', (commissionType, rate, currency, text) => {
  expect(typedRate({ commissionType, rate }, currency)).toBe(text)
})

test('with three decimals, a single comma can be either separator', () => {
  expect(typedCents('1,440', 'KWD')).toBeUndefined()
  expect(typedCents('1,440.000', 'KWD')).toBe(1_440_000)
  expect(typedCents('1440', 'KWD')).toBe(1_440_000)
})

test('the currency of an amount is text, whatever a form contains', () => {
  expect(typedCents('10.50', '(A+)+B')).toBe(1050)
  expect(typedCents(`${'A'.repeat(40)}!`, '(A+)+B')).toBeUndefined()
  expect(typedCents('10.50 (', '(')).toBe(1050)
})

test('an amount is typed as it is read', () => {
  for (const [cents, currency] of [
    [-123_456, 'USD'],
    [5, 'USD'],
    [1440, 'JPY'],
  ] as const)
    expect(typedCents(typedAmount(cents, currency), currency)).toBe(cents)
})

const drawn = (values: number[], before: number[] = []) =>
  String(chart({ name: 'Commission', total: '0', dates: ['2026-11-01', '2026-11-02'], values, before, show: String }))
const barsOf = (text: string) =>
  [...text.matchAll(/<rect class="bar" x="\d+" y="([\d.]+)" width="8" height="([\d.]+)"/g)].map(([, y, height]) => [
    y,
    height,
  ])
const axisOf = (text: string) => /class="axis" [^>]*y1="([\d.]+)"/.exec(text)?.[1]

test('negative values are drawn below the axis', () => {
  const text = drawn([500, -500])
  expect(barsOf(text)).toEqual([
    ['0.00', '50.00'],
    ['50.00', '50.00'],
  ])
  expect(axisOf(text)).toBe('50')
})

test('a chart of zeros has its axis at the bottom and no tick at 0.5', () => {
  const text = drawn([0, 0])
  expect(axisOf(text)).toBe('100')
  expect(text).not.toContain('0.5')
})

test('each day has its value for hover and focus, and that of the earlier period behind it', () => {
  const text = drawn([3, 4], [1, 0])
  expect([...text.matchAll(/<span class="tip[^"]*">([^<]*)</g)].map(([, tip]) => tip)).toEqual([
    'Nov 1, 2026: 3 (before: 1)',
    'Nov 2, 2026: 4 (before: 0)',
  ])
  expect(text.match(/<rect class="bar before"/g)).toHaveLength(2)
  expect(text).not.toContain('<polyline')
})

test.each([
  [150, 100, '▲ 50%'],
  [95, 100, '▼ 5.0%'],
  [100, 100, 'no change'],
  [5, 0, '▲ new'],
])('a total of %i after a total of %i is shown as a change of %s', (now, before, text) => {
  expect(String(change(now, before))).toContain(text)
})
