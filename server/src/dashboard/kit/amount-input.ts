import { minorUnitDigits } from '../../core/currencies.ts'
import { money } from './format.ts'

/** A sign, whole units with or without a separator of thousands, and decimals. */
const AMOUNT = /^(-?)(\d{1,13}|\d{1,3}(?:,\d{3}){1,4}|\d{1,3}(?:[ \u00a0\u202f]\d{3}){1,4})(?:\.(\d{1,4}))?$/

/**
 * Parses a typed amount to minor units: `1440`, `1,440.00`, `1 440.00 USD`. Returns undefined when it is not an amount, and
 * for `10,50`, which is ten and a half to some and a thousand and fifty to others.
 */
export function typedCents(text: string, currency: string): number | undefined {
  const digits = minorUnitDigits(currency)
  const [, sign, units = '', fraction] = AMOUNT.exec(withoutCurrency(text.trim(), currency).replace('−', '-')) ?? []
  if (sign === undefined || (fraction !== undefined && fraction.length !== digits)) return undefined
  // 1,440 dinars have three decimals: it may be one of them or a thousand.
  if (digits === 3 && fraction === undefined && units.includes(',')) return undefined
  return Number(`${sign}${units.replace(/\D/g, '')}${fraction ?? '0'.repeat(digits)}`)
}

function withoutCurrency(text: string, currency: string): string {
  const [upper, code] = [text.toUpperCase(), currency.toUpperCase()]
  if (code === '') return text
  if (upper.endsWith(code)) return text.slice(0, -code.length).trimEnd()
  return upper.startsWith(code) ? text.slice(code.length).trimStart() : text
}

/** Minor units as they are typed into a field: `1440.00`. */
export const typedAmount = (cents: number, currency: string): string =>
  money(cents, currency).replace(` ${currency}`, '').replaceAll(',', '').replace('−', '-')
