import { usageError } from '../../errors.ts'
import { minorUnitDigits } from '../../money.ts'

/** The number format of a money column. */
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
 * Detects a column's format from its name, the options, and its values. It never guesses: `100` may be units or cents,
 * and `1,234` may have a thousands separator or decimals.
 *
 * @throws {CliError} usage when the format is ambiguous
 */
export function detectMoneyColumn(
  name: string,
  values: readonly { text: string; currency: string }[],
  { money, decimal }: MoneyOptions,
): MoneyColumn {
  const filled = values
    .map(({ text, currency }) => ({ text: stripCurrencySign(text), currency }))
    // Zero is the same in units and in cents.
    .filter(({ text }) => text !== '' && text !== '0')
  if (/cents$/i.test(name) || money === 'cents') return { unit: 'cents', decimal: '.' }
  const separators = new Set(
    filled.map(({ text }) => /([.,])\d{1,2}$/.exec(text)?.[1]).filter((mark) => mark !== undefined),
  )
  if (separators.size > 1 && !decimal)
    throw usageError(`${name} contains decimal points and decimal commas.`, 'Pass --decimal . or --decimal ,')
  const [mark] = separators
  const separator = decimal ?? (mark as '.' | ',' | undefined)
  if (separator) return { unit: 'units', decimal: separator }
  const ambiguous = filled.find(({ text, currency }) => /[.,]/.test(text) || (!money && minorUnitDigits(currency) > 0))
  if (!ambiguous) return { unit: 'units', decimal: '.' }
  throw /[.,]/.test(ambiguous.text)
    ? usageError(`${ambiguous.text} in ${name} is ambiguous.`, 'Pass --decimal . or --decimal ,')
    : usageError(
        `${name} has no decimals: ${ambiguous.text} may be ${ambiguous.text} ${ambiguous.currency} or ${ambiguous.text} cents.`,
        'Pass --money units or --money cents.',
      )
}

// Many currencies share the dollar sign.
const CURRENCIES_BY_SIGN: Record<string, readonly string[]> = { '€': ['EUR'], '£': ['GBP'], '¥': ['JPY', 'CNY'] }

/** Whether the text has the sign of a currency other than the row's. */
function hasOtherCurrencySign(text: string, currency: string): boolean {
  const sign = /[$€£¥]/.exec(text)?.[0]
  if (!sign) return false
  const signCurrencies = CURRENCIES_BY_SIGN[sign]
  return signCurrencies
    ? !signCurrencies.includes(currency)
    : Object.values(CURRENCIES_BY_SIGN).flat().includes(currency)
}

/** Parses a cell to minor units. */
export function toCents(text: string, { unit, decimal }: MoneyColumn, currency: string): number | { problem: string } {
  const plain = stripCurrencySign(text)
  if (hasOtherCurrencySign(text, currency)) return { problem: `${text} is not in ${currency}` }
  if (unit === 'cents')
    return /^\d{1,10}$/.test(plain) ? Number(plain) : { problem: `${text} is not an integer number of cents` }
  const group = decimal === '.' ? ',' : '.'
  const pattern = new RegExp(`^(\\d{1,3}(?:[${group} '’\\u00a0\\u202f]\\d{3})+|\\d{1,10})(?:[${decimal}](\\d+))?$`)
  const [, units, fraction = ''] = pattern.exec(plain) ?? []
  if (units === undefined) return { problem: `${text} is not an amount` }
  const digits = minorUnitDigits(currency)
  if (fraction.length > digits) return { problem: `${text} has more decimals than ${currency}` }
  return Number(units.replace(/\D/g, '') + fraction.padEnd(digits, '0'))
}
