import { expect, test } from 'vitest'
import { minorUnitDigits as digitsOfCli } from '../../cli/src/money.ts'
import { minorUnitDigits } from '../../server/src/core/currencies.ts'

test('the server and the CLI agree on the minor units of every currency', () => {
  const currencies = Intl.supportedValuesOf('currency')
  expect(currencies.length).toBeGreaterThan(100)
  const wrong = currencies.filter((currency) => minorUnitDigits(currency) !== digitsOfCli(currency))
  expect(wrong).toEqual([])
})

test.each([
  ['USD', 2],
  ['HUF', 2],
  ['IDR', 2],
  ['JPY', 0],
  ['KWD', 3],
  ['IQD', 3],
  ['CLF', 4],
  ['an unknown one', 2],
])('the currency %s has %i digits', (currency, digits) => {
  expect(minorUnitDigits(currency)).toBe(digits)
})
