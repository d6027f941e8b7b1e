import { minimumsByCurrency } from '../accounts/settings.ts'
import { ApiError, conflict, invalid, notFound } from '../contract/errors.ts'
import type { Body } from '../contract/spec.ts'
import type { Context } from '../core/context.ts'
import { instantBody } from '../core/time.ts'
import { currenciesOf, resolveThreshold } from '../engine/payout.ts'
import { type ComputedBatch, computeBatch } from './batch.ts'
import type { CandidateFilter, Subtotal } from './queries.ts'

/** A batch that may be made: its currency, what it comes to, and the minimum it meets. */
export interface BatchPlan extends ComputedBatch {
  currency: string
  minimumPayoutCents: number
}

/**
 * Which commissions the body asks for (section 4.4 rule 2).
 *
 * @throws ApiError 400 `invalid_body`, or `period_invalid` unless the end is after the start.
 */
export function readFilter(body: Body<'createPayout'>): CandidateFilter {
  const periodStart = instantBody('periodStart', body.periodStart)
  const periodEnd = instantBody('periodEnd', body.periodEnd)
  if (periodEnd <= periodStart) throw invalid('period_invalid', 'periodEnd must be after periodStart.')
  const { currency, affiliateIds, programId } = body
  return { periodStart, periodEnd, currency, affiliateIds, programId }
}

/**
 * Whether these sums make a batch. `seen` is what this call saw first: it tells what never sufficed from what another
 * batch took away meanwhile (section 4.4 rules 4 and 5).
 *
 * @throws ApiError 404 `no_eligible_commissions`; 409 `payout_claimed_concurrently`,
 *   `payout_threshold_needs_reconciliation`, `payout_mixed_currencies`, `payout_below_threshold`,
 *   `payout_below_threshold_after_claim` or `total_too_large`.
 */
export function planBatch(ctx: Context, { periodEnd }: CandidateFilter, rows: Subtotal[], seen: Subtotal[]): BatchPlan {
  const [first] = rows
  if (!first) throw seen.length ? claimedConcurrently() : noneEligible()
  const currencies = currenciesOf(rows)
  if (currencies.length > 1) throw mixedCurrencies(currencies)
  const { currency } = first
  const minimumPayoutCents = minimumPayout(ctx, currency)
  const settled = computeBatch(rows, periodEnd)
  if (!settled) throw batchTooLarge()
  const total = settled.totals.netPayableCents
  if (total < minimumPayoutCents) {
    const before = computeBatch(
      seen.filter((row) => row.currency === currency),
      periodEnd,
    )
    throw !before || before.totals.netPayableCents >= minimumPayoutCents
      ? belowThresholdAfterClaim(total, minimumPayoutCents)
      : belowThreshold(total, minimumPayoutCents)
  }
  return { ...settled, currency, minimumPayoutCents }
}

/**
 * The least a batch of this currency must come to, in its cents: for the shop's own currency the shop's minimum, else the
 * server's; for another one what the shop has set for it, else 0.
 *
 * @throws ApiError 409 `payout_threshold_needs_reconciliation` when the setting of earlier versions disagrees.
 */
function minimumPayout({ shop, config }: Context, currency: string): number {
  if (currency !== shop.currency) return minimumsByCurrency(shop)[currency] ?? 0
  const threshold = resolveThreshold({
    minimumPayoutCents: shop.minimumPayoutCents,
    defaultMinimumPayoutCents: config.minimumPayoutCents,
    legacyMinimumPayout: shop.legacyMinimumPayout === null ? null : Number(shop.legacyMinimumPayout),
  })
  if (threshold.ok) return threshold.minimumPayoutCents
  const cents = shop.minimumPayoutCents ?? config.minimumPayoutCents
  throw conflict(
    'payout_threshold_needs_reconciliation',
    `The old minimum payout setting (${shop.legacyMinimumPayout}) and the new one (${cents} cents) disagree; change one of them first.`,
  )
}

/** 409 when a total of a batch, or what it has to hold back, is beyond the exact numbers. */
export const batchTooLarge = () =>
  conflict(
    'total_too_large',
    `These commissions add up to more than ${Number.MAX_SAFE_INTEGER} cents, the largest exact total. Choose a shorter period, a program or affiliates, and create several batches.`,
  )

const noneEligible = () =>
  notFound('no_eligible_commissions', 'No approved commission without a batch happened in this period.')

const claimedConcurrently = () => conflict('payout_claimed_concurrently', 'Another batch took these commissions first.')

function mixedCurrencies(currencies: string[]) {
  const names = `${currencies.slice(0, -1).join(', ')} and ${currencies.at(-1)}`
  const message = `These commissions are in ${names}; send currency to choose one.`
  return new ApiError(409, 'payout_mixed_currencies', message, {
    headers: { 'X-Payout-Currencies': currencies.join(', ') },
  })
}

const belowThreshold = (cents: number, minimum: number) =>
  conflict(
    'payout_below_threshold',
    `The eligible total of ${cents} cents is below the minimum payout of ${minimum} cents.`,
  )

const belowThresholdAfterClaim = (cents: number, minimum: number) =>
  conflict(
    'payout_below_threshold_after_claim',
    `Another batch took some of these commissions first; the ${cents} cents that are left are below the minimum payout of ${minimum} cents.`,
  )
