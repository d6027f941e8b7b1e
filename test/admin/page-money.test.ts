import { expect, test } from 'vitest'
import { chart } from '../../server/src/admin/overview.ts'
import { money, typedCents } from '../../server/src/admin/show.ts'

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
  ['1440.0', undefined],
  ['1440.005', undefined],
  ['1.440,00', undefined],
  ['', undefined],
  ['12e3', undefined],
  ['99999999999999999', undefined],
])('%s is parsed as %s cents', (text, cents) => {
  expect(typedCents(text, 'USD')).toBe(cents)
})

test('negative values are drawn below the axis', () => {
  const drawn = String(
    chart({ name: 'Commission', total: '0', dates: ['2026-11-01', '2026-11-02'], values: [300, -100], show: String }),
  )
  const bars = [...drawn.matchAll(/<rect class="bar" x="\d+" y="([\d.]+)" width="8" height="([\d.]+)"/g)]
  expect(bars.map(([, y, height]) => [y, height])).toEqual([
    ['0.00', '75.00'],
    ['75.00', '25.00'],
  ])
  expect(drawn).toContain('y1="75" y2="75"')
})
