import { usageError } from '../exit.ts'
import { minorUnitDigits } from '../money.ts'

/** How a column writes money. */
export interface MoneyColumn {
  unit: 'cents' | 'units'
  decimal: '.' | ','
}

export interface MoneyOptions {
  money?: 'cents' | 'units'
  decimal?: '.' | ','
}

const stripCurrencySign = (text: string) => text.trim().replace(/^[$€£¥]\s?|\s?[$€£¥]$/g, '')

/**
 * How this column is to be read, from its name, what was said, or its values. Where 100 could be a hundred units as well
 * as a hundred cents, or 1,234 a thousand as well as one and a bit, nothing is guessed.
 */
export function detectMoneyColumn(
  name: string,
  values: readonly { text: string; currency: string }[],
  { money, decimal }: MoneyOptions,
): MoneyColumn {
  const given = values
    .map(({ text, currency }) => ({ text: stripCurrencySign(text), currency }))
    .filter(({ text }) => text !== '')
  if (/cents$/i.test(name) || money === 'cents') return { unit: 'cents', decimal: '.' }
  const marks = new Set(given.map(({ text }) => /([.,])\d{1,2}$/.exec(text)?.[1]).filter((mark) => mark !== undefined))
  if (marks.size > 1 && !decimal)
    throw usageError(
      `${name} writes decimals with points and with commas.`,
      'Say which it is: --decimal . or --decimal ,',
    )
  const [mark] = marks
  const found = decimal ?? (mark as '.' | ',' | undefined)
  if (found) return { unit: 'units', decimal: found }
  const vague = given.find(({ text, currency }) => /[.,]/.test(text) || (!money && minorUnitDigits(currency) > 0))
  if (!vague) return { unit: 'units', decimal: '.' }
  throw /[.,]/.test(vague.text)
    ? usageError(
        `${vague.text} in ${name} could be read two ways.`,
        'Say how decimals are written: --decimal . or --decimal ,',
      )
    : usageError(
        `${name} has no decimals: is ${vague.text} ${vague.text} ${vague.currency} or ${vague.text} cents?`,
        'Add --money units or --money cents.',
      )
}

// A dollar sign is that of many currencies; the others say which money it is.
const CURRENCIES_BY_SIGN: Record<string, readonly string[]> = { '€': ['EUR'], '£': ['GBP'], '¥': ['JPY', 'CNY'] }

/** A sign that speaks against the currency of the row. */
function hasOtherCurrencySign(text: string, currency: string): boolean {
  const sign = /[$€£¥]/.exec(text)?.[0]
  if (!sign) return false
  const own = CURRENCIES_BY_SIGN[sign]
  return own ? !own.includes(currency) : Object.values(CURRENCIES_BY_SIGN).flat().includes(currency)
}

/** Minor units of one cell, or what is wrong with it. */
export function toCents(text: string, { unit, decimal }: MoneyColumn, currency: string): number | { problem: string } {
  const plain = stripCurrencySign(text)
  if (hasOtherCurrencySign(text, currency)) return { problem: `${text} is not in ${currency}` }
  if (unit === 'cents')
    return /^\d{1,10}$/.test(plain) ? Number(plain) : { problem: `${text} is no whole number of cents` }
  const group = decimal === '.' ? ',' : '.'
  const pattern = new RegExp(`^(\\d{1,3}(?:[${group} '’\\u00a0\\u202f]\\d{3})+|\\d{1,10})(?:[${decimal}](\\d+))?$`)
  const [, units, fraction = ''] = pattern.exec(plain) ?? []
  if (units === undefined) return { problem: `${text} is no amount` }
  const digits = minorUnitDigits(currency)
  if (fraction.length > digits) return { problem: `${text} has more decimals than ${currency}` }
  return Number(units.replace(/\D/g, '') + fraction.padEnd(digits, '0'))
}
