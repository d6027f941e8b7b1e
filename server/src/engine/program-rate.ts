import type { CommissionType, Rate } from './facts.ts'
import { fromHundredths, hundredthsOf, scaled } from './money.ts'

/** The largest stored amount: signed 32-bit cents. */
export const MAX_CENTS = 2_147_483_647
/** 100% in basis points. */
export const MAX_BPS = 10_000

/** The type of a program's discount. */
export type DiscountType = 'PERCENT' | 'FIXED'

/** Why a rate is rejected. `NEEDS_COMMISSION_PERCENT`: cents do not convert to a percentage, so one must be sent. */
export type RateError = 'NOT_POSITIVE' | 'ABOVE_100_PERCENT' | 'TOO_LARGE' | 'NEEDS_COMMISSION_PERCENT'
/** A rate to store, or why it is rejected. */
export type RateResult = { ok: true; rate: Rate } | { ok: false; reason: RateError }

/** Why a discount is rejected. */
export type DiscountError = 'NEGATIVE' | 'ABOVE_100_PERCENT' | 'TOO_LARGE'
/** A discount to store, in basis points or cents, or why it is rejected. */
export type DiscountResult = { ok: true; hundredths: number } | { ok: false; reason: DiscountError }

/**
 * Converts the input field `commissionPercent`: a percentage to basis points or, for the flat types, units of the shop's
 * currency to its minor unit; rounded half up on its decimal text.
 *
 * @param digits Of the minor unit of the shop's currency: 2 for USD, 0 for JPY.
 */
export function rateFromInput(commissionType: CommissionType, commissionPercent: number, digits: number): RateResult {
  const isPercent = commissionType === 'PERCENT_OF_SALE'
  const rate = scaled(commissionPercent, isPercent ? 2 : digits)
  if (rate === null || rate <= 0n) return { ok: false, reason: 'NOT_POSITIVE' }
  if (isPercent && rate > BigInt(MAX_BPS)) return { ok: false, reason: 'ABOVE_100_PERCENT' }
  if (rate > BigInt(MAX_CENTS)) return { ok: false, reason: 'TOO_LARGE' }
  return { ok: true, rate: { commissionType, rate: Number(rate) } }
}

/** The persisted `commissionPercent` of a rate: a percentage (1650 bps give 16.5), zero for the flat types. */
export function commissionPercentOf({ commissionType, rate }: Rate): number {
  return commissionType === 'PERCENT_OF_SALE' ? fromHundredths(rate) : 0
}

/**
 * Changes the commission type without a new value: a percentage becomes currency units (16% becomes 16.00), a flat amount
 * keeps its cents, and a flat amount does not convert to a percentage.
 */
export function withType(stored: Rate, commissionType: CommissionType, digits: number): RateResult {
  const [wasPercent, isPercent] = [stored.commissionType, commissionType].map((type) => type === 'PERCENT_OF_SALE')
  if (wasPercent === isPercent) return { ok: true, rate: { commissionType, rate: stored.rate } }
  if (isPercent) return { ok: false, reason: 'NEEDS_COMMISSION_PERCENT' }
  return rateFromInput(commissionType, fromHundredths(stored.rate), digits)
}

/** A stored rate after a PATCH that sends the type, the value, both or neither. */
export function patchRate(
  stored: Rate,
  patch: { commissionType?: CommissionType; commissionPercent?: number },
  digits: number,
): RateResult {
  const commissionType = patch.commissionType ?? stored.commissionType
  if (patch.commissionPercent === undefined) return withType(stored, commissionType, digits)
  return rateFromInput(commissionType, patch.commissionPercent, digits)
}

/** Converts `discountValue`: 0 to 100 percent to basis points, or currency units to cents; rounded like a rate. */
export function discountFromInput(discountType: DiscountType, discountValue: number): DiscountResult {
  const hundredths = hundredthsOf(discountValue)
  if (hundredths === null || discountValue < 0) return { ok: false, reason: 'NEGATIVE' }
  if (discountType === 'PERCENT' && hundredths > BigInt(MAX_BPS)) return { ok: false, reason: 'ABOVE_100_PERCENT' }
  if (hundredths > BigInt(MAX_CENTS)) return { ok: false, reason: 'TOO_LARGE' }
  return { ok: true, hundredths: Number(hundredths) }
}

/** The wire value of a stored discount: basis points as a percentage, or cents as currency units. */
export function discountValueOf(hundredths: number): number {
  return fromHundredths(hundredths)
}
