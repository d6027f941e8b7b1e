import { conflict, conflictWithRemedy, invalidField, notFound, totalTooLarge } from '../../contract/errors.ts'
import type { Body } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { minorUnitDigits, money } from '../../core/currencies.ts'
import { readFrom } from '../../core/lists.ts'
import { parseBodyInstant } from '../../core/time.ts'
import { defineReport } from '../../database/database.ts'
import { currenciesOf, heldBackTotals, resolveMinimumPayout } from '../../engine/payout.ts'
import { affiliateMinimumsByCurrency, minimumsByCurrency } from '../accounts/settings.ts'
import {
  type CandidateFilter,
  countApproved,
  type Hold,
  listIneligibleAffiliateIds,
  MAX_MOVED,
  type Subtotal,
  sumCandidates,
} from '../ledger/batch-commissions.ts'
import { type ComputedBatch, computeBatch } from '../ledger/batch-totals.ts'

/** A batch that can be created. */
export interface BatchPlan {
  currency: string
  totals: ComputedBatch['totals']
  /** How many commissions it takes. */
  commissions: number
  heldBack: NonNullable<ReturnType<typeof heldBackTotals>>
  onHold: OnHold
  /** The affiliates that are left out because they have less than the minimum of an affiliate. */
  exceptAffiliateIds: string[]
}

/**
 * Parses the request body into a commission filter.
 *
 * @throws ApiError 400 `invalid_body`, or `period_invalid` unless the end is after the start.
 */
export function parseCandidateFilter(ctx: Context, body: Body<'createPayout'>): CandidateFilter {
  const periodStart = parseBodyInstant('periodStart', body.periodStart)
  const periodEnd = parseBodyInstant('periodEnd', body.periodEnd)
  if (periodEnd <= periodStart)
    throw invalidField('period_invalid', 'periodEnd', 'must be after the start of the period.')
  const { currency, affiliateIds, programId } = body
  const includeEarlier = body.includeEarlier === true
  return { at: nowIso(ctx), periodStart, periodEnd, includeEarlier, currency, affiliateIds, programId }
}

interface PlanQuery {
  filter: CandidateFilter
  /** The least that a batch pays to one affiliate, in cents by currency. */
  minimums: Record<string, number>
}

/** Reads every approved commission of the period. The affiliates are many, and only sums are copied between threads. */
export const planReport = defineReport(
  import.meta.url,
  'planReport',
  async (db, { shopId, query: { filter, minimums } }: { shopId: string; query: PlanQuery }): Promise<Estimate> => {
    const ineligible = new Set(await listIneligibleAffiliateIds(db, shopId))
    const rows = await sumCandidates(db, shopId, filter)
    const {
      payable = [],
      heldBack = [],
      onHold = [],
    } = Object.groupBy(rows, ({ affiliateId, isOnHold }) =>
      ineligible.has(affiliateId) ? 'heldBack' : isOnHold ? 'onHold' : 'payable',
    )
    const estimated = toEstimate(payable, filter.periodEnd, minimums)
    return { ...estimated, heldBack: byCurrency(heldBack, heldBackTotals), onHold: byCurrency(onHold, onHoldTotals) }
  },
  { isLong: true },
)

const byCurrency = <Row extends Subtotal, Totals>(
  rows: Row[],
  totals: (currencyRows: Row[]) => Totals,
): Record<string, Totals> =>
  Object.fromEntries(
    [...Map.groupBy(rows, ({ currency }) => currency)].map(([name, currencyRows]) => [name, totals(currencyRows)]),
  )

/** Commissions that a program's terms do not pay yet. */
interface OnHold {
  commissions: number
  commissionCents: number
  nextAvailableAt: string | null
}

function onHoldTotals(rows: Pick<Subtotal & Hold, keyof Subtotal | 'nextAvailableAt'>[]): OnHold | null {
  const totals = heldBackTotals(rows)
  return totals && { ...totals, nextAvailableAt: rows.map((row) => row.nextAvailableAt).sort()[0] ?? null }
}

/** The batches that the commissions of a filter would make now. */
export async function estimate(ctx: Context, filter: CandidateFilter): Promise<Estimate> {
  const isLarge = (await countApproved(ctx.db.read, ctx.shop.id)) > MAX_MOVED
  const query = { filter, minimums: affiliateMinimumsByCurrency(ctx.shop) }
  return isLarge ? readFrom(ctx, planReport, query) : planReport.run(ctx.db.read, { shopId: ctx.shop.id, query })
}

/** The batches that some commissions would make, by currency. */
export interface Estimate {
  /** In alphabetical order. */
  currencies: string[]
  /** In the order of `currencies`; null when a sum exceeds the largest exact integer. */
  totals: (ComputedBatch['totals'] | null)[]
  /** How many commissions move, without the debts that are carried forward. */
  commissions: number[]
  /** The affiliates that are left out because they have less than the minimum of an affiliate. */
  belowMinimum: Record<string, string[]>
  /** What a batch cannot pay; null when the sum exceeds the largest exact integer. */
  heldBack: Record<string, ReturnType<typeof heldBackTotals>>
  onHold: Record<string, OnHold | null>
}

function toEstimate(
  rows: Subtotal[],
  periodEnd: string,
  minimums: Record<string, number>,
): Omit<Estimate, 'heldBack' | 'onHold'> {
  const small = new Map(Object.entries(minimums).map(([name, cents]) => [name, affiliatesBelow(rows, name, cents)]))
  const payable = rows.filter((row) => !small.get(row.currency)?.has(row.affiliateId))
  const currencies = currenciesOf(payable)
  const payableIn = Map.groupBy(payable, (row) => row.currency)
  const belowMinimum = [...small].filter(([, ids]) => ids.size > 0).map(([name, ids]) => [name, [...ids]])
  const rowsOf = (name: string) => payableIn.get(name) ?? []
  return {
    currencies,
    totals: currencies.map((name) => computeBatch(rowsOf(name), periodEnd)?.totals ?? null),
    commissions: currencies.map((name) => rowsOf(name).reduce((count, row) => count + row.commissions, 0)),
    belowMinimum: Object.fromEntries(belowMinimum),
  }
}

/** The affiliates whose net amount is above 0 and below a minimum. Debts stay in the batch, which carries them forward. */
function affiliatesBelow(rows: Subtotal[], currency: string, minimumCents: number): Set<string> {
  const nets = new Map<string, bigint>()
  for (const row of rows) {
    if (row.currency !== currency) continue
    const net = row.commissionAmountCents - row.taxWithheldCents
    nets.set(row.affiliateId, (nets.get(row.affiliateId) ?? 0n) + net)
  }
  return new Set([...nets].filter(([, net]) => net > 0n && net < BigInt(minimumCents)).map(([id]) => id))
}

/**
 * The batch that an estimate makes.
 *
 * @param initial the first estimate of the request: it distinguishes no commissions from commissions that a concurrent batch
 *   took
 *
 * @throws ApiError 404 `no_eligible_commissions`; 409 `payout_claimed_concurrently`, `payout_mixed_currencies`,
 *   `payout_below_threshold` or `total_too_large`.
 */
export function planBatch(current: Estimate, initial: Estimate): BatchPlan {
  const [currency, ...others] = current.currencies
  if (currency === undefined) {
    if (initial.currencies.length > 0) throw claimedConcurrently()
    throw Object.keys(current.belowMinimum).length > 0 ? allBelowMinimum() : noneEligible(current.onHold)
  }
  if (others.length > 0) throw mixedCurrencies(current.currencies)
  const [totals] = current.totals
  const { [currency]: heldBack = heldBackTotals([]) } = current.heldBack
  const { [currency]: onHold = onHoldTotals([]) } = current.onHold
  if (!totals || !heldBack || !onHold) throw batchTooLarge()
  const [commissions = 0] = current.commissions
  const exceptAffiliateIds = current.belowMinimum[currency] ?? []
  return { currency, totals, commissions, heldBack, onHold, exceptAffiliateIds }
}

/**
 * The minimum payout that a batch meets, in cents.
 *
 * @param ctx to create the batch, `ctx.shop` must be the row as read in its transaction
 *
 * @throws ApiError 409 `payout_threshold_needs_reconciliation`, `payout_below_threshold` or
 *   `payout_below_threshold_after_claim`.
 */
export function requireMinimum(ctx: Context, { currency, totals }: BatchPlan, initial: Estimate): number {
  const minimumCents = minimumPayout(ctx, currency)
  if (totals.netPayableCents >= minimumCents) return minimumCents
  const earlier = initial.totals[initial.currencies.indexOf(currency)]
  const isClaimed = earlier === null || (earlier && earlier.netPayableCents >= minimumCents)
  const amounts = { total: money(totals.netPayableCents, currency), minimum: money(minimumCents, currency) }
  throw isClaimed ? belowMinimumAfterClaim(amounts) : belowMinimum(amounts)
}

/**
 * The minimum payout of a currency, in its cents: for the shop's own currency the shop's setting or else the server's; for
 * others the shop's setting or else 0.
 *
 * @throws ApiError 409 `payout_threshold_needs_reconciliation` when it conflicts with the setting of an earlier version.
 */
export function minimumPayout({ shop, config }: Context, currency: string): number {
  if (currency !== shop.currency) return minimumsByCurrency(shop)[currency] ?? 0
  const minimum = resolveMinimumPayout({
    minimumPayoutCents: shop.minimumPayoutCents,
    defaultMinimumPayoutCents: config.minimumPayoutCents,
    legacyMinimumPayout: shop.legacyMinimumPayout === null ? null : Number(shop.legacyMinimumPayout),
    digits: minorUnitDigits(shop.currency),
  })
  if (minimum.ok) return minimum.minimumPayoutCents
  const cents = shop.minimumPayoutCents ?? config.minimumPayoutCents
  throw conflict(
    'payout_threshold_needs_reconciliation',
    `The legacy minimum payout setting (${shop.legacyMinimumPayout}) and the current one (${money(cents, shop.currency)}) conflict. Change one of them and retry.`,
  )
}

/** 409 when a total of a batch, or the amount held back, exceeds the largest exact integer. */
const batchTooLarge = () => totalTooLarge('Create several batches, by period, program or affiliate.')

function noneEligible(onHold: Estimate['onHold']) {
  const [nextAt] = Object.values(onHold)
    .flatMap((hold) => hold?.nextAvailableAt ?? [])
    .sort()
  const remedy = nextAt ? `The first one is on hold until ${nextAt}.` : 'Choose another period or approve commissions.'
  return notFound('no_eligible_commissions', `No approved commission of this period is available for payout. ${remedy}`)
}

export const claimedConcurrently = () =>
  conflictWithRemedy('payout_claimed_concurrently', {
    problem: 'Another payout batch claimed these commissions.',
    remedy: 'List the payouts before you retry.',
  })

function mixedCurrencies(currencies: string[]) {
  const names = `${currencies.slice(0, -1).join(', ')} and ${currencies.at(-1)}`
  return conflictWithRemedy('payout_mixed_currencies', {
    problem: `These commissions are in ${names}.`,
    remedy: 'Send currency to choose one.',
    headers: { 'X-Payout-Currencies': currencies.join(', ') },
  })
}

const belowMinimum = ({ total, minimum }: { total: string; minimum: string }) =>
  conflict(
    'payout_below_threshold',
    `The eligible total of ${total} is below the minimum payout of ${minimum}. Choose a longer period.`,
  )

const allBelowMinimum = () =>
  conflict(
    'payout_below_threshold',
    'Every affiliate is below the minimum payout per affiliate. Lower the minimum, or include earlier commissions.',
  )

const belowMinimumAfterClaim = ({ total, minimum }: { total: string; minimum: string }) =>
  conflict(
    'payout_below_threshold_after_claim',
    `Another payout batch claimed some of these commissions. The remaining ${total} are below the minimum payout of ${minimum}.`,
  )
