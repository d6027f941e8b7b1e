import type { CommissionType, Rate } from './facts.ts'
import { hundredthsToNumber, scaleExactly } from './money.ts'

/** The largest stored amount: signed 32-bit cents. */
export const MAX_CENTS = 2_147_483_647
/** 100% in basis points. */
const MAX_BPS = 10_000

/** The type of a program's discount. */
export type DiscountType = 'PERCENT' | 'FIXED'

/** Why a rate is rejected. `NEEDS_COMMISSION_PERCENT`: cents do not convert to a percentage, so one must be sent. */
export type RateError = 'NOT_POSITIVE' | 'ABOVE_100_PERCENT' | 'TOO_LARGE' | 'TOO_PRECISE' | 'NEEDS_COMMISSION_PERCENT'
/** A rate to store, or why it is rejected. */
type RateResult = { ok: true; rate: Rate } | { ok: false; reason: RateError }

/** Why a discount is rejected. */
type DiscountError = 'NEGATIVE' | 'ABOVE_100_PERCENT' | 'TOO_LARGE' | 'TOO_PRECISE'

/**
 * Converts the input field `commissionPercent`: a percentage to basis points or, for the flat types, units of the
 * shop's currency to its minor unit. A value with too many decimals is rejected instead of rounded.
 *
 * @param digits the number of minor-unit digits in the shop's currency: 2 for USD, 0 for JPY
 */
export function rateFromInput(commissionType: CommissionType, commissionPercent: number, digits: number): RateResult {
  const isPercent = commissionType === 'PERCENT_OF_SALE'
  const rate = scaleExactly(commissionPercent, isPercent ? 2 : digits)
  if (!(commissionPercent > 0 && Number.isFinite(commissionPercent))) return { ok: false, reason: 'NOT_POSITIVE' }
  if (rate === null) return { ok: false, reason: 'TOO_PRECISE' }
  if (isPercent && rate > BigInt(MAX_BPS)) return { ok: false, reason: 'ABOVE_100_PERCENT' }
  if (rate > BigInt(MAX_CENTS)) return { ok: false, reason: 'TOO_LARGE' }
  return { ok: true, rate: { commissionType, rate: Number(rate) } }
}

/** The persisted `commissionPercent` of a rate: a percentage (1650 bps give 16.5), zero for the flat types. */
export function commissionPercentOf({ commissionType, rate }: Rate): number {
  return commissionType === 'PERCENT_OF_SALE' ? hundredthsToNumber(rate) : 0
}

/**
 * Changes the commission type without a new value: a percentage becomes currency units (16% becomes 16.00), a flat amount
 * keeps its cents, and a flat amount does not convert to a percentage.
 */
export function withType(stored: Rate, commissionType: CommissionType, digits: number): RateResult {
  const [wasPercent, isPercent] = [stored.commissionType, commissionType].map((type) => type === 'PERCENT_OF_SALE')
  if (wasPercent === isPercent) return { ok: true, rate: { commissionType, rate: stored.rate } }
  if (isPercent) return { ok: false, reason: 'NEEDS_COMMISSION_PERCENT' }
  return rateFromInput(commissionType, hundredthsToNumber(stored.rate), digits)
}

/** A stored rate after a PATCH that sends the type, the value, both, or neither. */
export function patchRate(
  stored: Rate,
  patch: { commissionType?: CommissionType; commissionPercent?: number },
  digits: number,
): RateResult {
  const commissionType = patch.commissionType ?? stored.commissionType
  if (patch.commissionPercent === undefined) return withType(stored, commissionType, digits)
  return rateFromInput(commissionType, patch.commissionPercent, digits)
}

/**
 * Why `discountValue` is rejected. It must be a percentage from 0 to 100, or units of the shop's currency. Null if it
 * is valid.
 */
export function discountError(discountType: DiscountType, discountValue: number, digits: number): DiscountError | null {
  const isPercent = discountType === 'PERCENT'
  const value = scaleExactly(discountValue, isPercent ? 2 : digits)
  if (!(discountValue >= 0)) return 'NEGATIVE'
  if (value === null) return 'TOO_PRECISE'
  if (isPercent && value > BigInt(MAX_BPS)) return 'ABOVE_100_PERCENT'
  return value > BigInt(MAX_CENTS) ? 'TOO_LARGE' : null
}
