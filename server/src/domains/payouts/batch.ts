import {
  concurrentChange,
  conflict,
  conflictWithRemedy,
  invalidField,
  notFound,
  totalTooLarge,
} from '../../contract/errors.ts'
import type { Body } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { minorUnitDigits, money } from '../../core/currencies.ts'
import type { WebhookEvent } from '../../core/outbox.ts'
import { parseBodyInstant } from '../../core/time.ts'
import type { Transaction } from '../../database/database.ts'
import type { CommissionRow, PayoutBatchRow } from '../../database/tables.ts'
import { carryDebts, currenciesOf, type PayoutTotals, payoutTotals, resolveMinimumPayout } from '../../engine/payout.ts'
import { affiliateMinimumsByCurrency, minimumsByCurrency } from '../accounts/settings.ts'
import {
  type CandidateFilter,
  findBatch,
  findLowestAmount,
  type Subtotal,
  sumBatch,
  sumLine,
  updateBatchIfUnchanged,
} from '../ledger/payouts.ts'
import { batchEvent } from './batch-resource.ts'
import { type Debt, insertDebts, insertPendingDebts } from './debts.ts'

const EMPTY_BATCH_REASON = 'Every commission left this batch before it was paid.'

export const payoutNotFound = () => notFound('payout_not_found', 'No payout batch with this id exists in your shop.')

/** A commission of a batch before and after a change. `after.payoutBatchId` differs when the commission left the batch. */
export interface ChangedCommission {
  before: CommissionRow
  after: CommissionRow
}

/** Batches of at most this many commissions change in one transaction, larger ones in steps. */
export const MAX_AT_ONCE = 500

/**
 * Recomputes the totals of an `OPEN` batch, in the transaction that changed some of its commissions. The debts of
 * affiliates with a negative total are carried forward; an empty batch becomes `FAILED`. Other batches do not change. Does
 * not audit; the caller must, and send the returned events.
 *
 * @throws ApiError 404 `payout_not_found`, 409 `concurrent_change`.
 */
export async function recomputeBatch(
  ctx: Context,
  trx: Transaction,
  batchId: string,
  changed: ChangedCommission[],
): Promise<{ row: PayoutBatchRow; events: WebhookEvent[] }> {
  const batch = await findBatch(trx, ctx.shop.id, batchId)
  if (!batch) throw payoutNotFound()
  if (batch.status !== 'OPEN') return { row: batch, events: [] }
  const isLarge = batch.commissions > MAX_AT_ONCE
  // Pending debts must be inserted first: the totals below are computed from rows.
  const affiliateIds = isLarge ? [...new Set(changed.map(({ before }) => before.affiliateId))] : undefined
  await insertPendingDebts(ctx, trx, batchId, affiliateIds ? { affiliateIds } : {})
  const computed = isLarge
    ? await computeChanged(trx, batch, changed)
    : computeBatch(await sumBatch(trx, ctx.shop.id, batchId), batch.periodEnd)
  // Commissions only leave a batch or shrink, so its totals stay exact.
  if (!computed) throw new Error('The totals of a batch are no longer exact')
  const { totals, debts } = computed
  const emptied = totals.commissions === 0 ? ({ status: 'FAILED', failureReason: EMPTY_BATCH_REASON } as const) : {}
  const changes = { ...totals, ...emptied, updatedAt: nowIso(ctx) }
  if (!(await updateBatchIfUnchanged(trx, ctx.shop.id, batch, changes))) throw concurrentChange()
  await insertDebts(ctx, trx, batchId, debts)
  const row = { ...batch, ...changes, version: batch.version + 1 }
  return { row, events: row.status === 'FAILED' ? [batchEvent('payout.failed', row, batch.status)] : [] }
}

/** Computes a large batch from its stored totals, reading only the commissions of the affected affiliates. */
async function computeChanged(
  trx: Transaction,
  batch: PayoutBatchRow,
  changed: ChangedCommission[],
): Promise<ComputedBatch | null> {
  const { id, shopId, periodEnd } = batch
  const before = changed.map((one) => one.before)
  const after = changed.map((one) => one.after).filter((row) => row.payoutBatchId === id)
  const debts: ComputedBatch['debts'] = []
  let { affiliates } = batch
  for (const affiliateId of new Set(before.map((row) => row.affiliateId))) {
    const lowest = await findLowestAmount(trx, shopId, id, affiliateId)
    if (lowest === undefined) affiliates--
    // Without a negative commission, the affiliate's total cannot be negative.
    if (lowest === undefined || lowest >= 0) continue
    const computed = computeBatch(await sumLine(trx, shopId, id, affiliateId), periodEnd)
    if (!computed) return null
    debts.push(...computed.debts)
  }
  const added = [...after, ...debts.map((debt) => debt.balancing)]
  const commissionCents =
    batch.commissionCents - sumOf(before, 'commissionAmountCents') + sumOf(added, 'commissionAmountCents')
  const taxWithheldCents = batch.taxWithheldCents - sumOf(before, 'taxWithheldCents') + sumOf(added, 'taxWithheldCents')
  const totals = {
    commissions: batch.commissions - before.length + added.length,
    affiliates,
    commissionCents,
    taxWithheldCents,
    netPayableCents: commissionCents - taxWithheldCents,
  }
  return { totals, debts }
}

type Amounts = Pick<CommissionRow, 'commissionAmountCents' | 'taxWithheldCents'>

const sumOf = (rows: Amounts[], column: keyof Amounts): number => rows.reduce((sum, row) => sum + row[column], 0)

/** The totals of a batch after the debts of affiliates were carried forward, in cents. */
export interface ComputedBatch {
  totals: PayoutTotals
  debts: Debt[]
}

/**
 * Computes a batch from the sums of its commissions, all of one currency. Affiliates with a negative total are raised to
 * zero, and their debt is carried forward. Null when a sum exceeds the largest exact integer.
 */
export function computeBatch(rows: readonly Subtotal[], periodEnd: string): ComputedBatch | null {
  const byAffiliate = Map.groupBy(rows, (row) => row.affiliateId)
  const carriedDebts = carryDebts(rows, periodEnd)
  const totals = carriedDebts && payoutTotals([...rows, ...carriedDebts.map((debt) => debt.balancing)])
  if (!totals) return null
  const debts = carriedDebts.map((debt) => ({
    ...debt,
    programId: onlyProgramOf(byAffiliate.get(debt.affiliateId) ?? []),
  }))
  return { totals, debts }
}

/** The program of a debt that comes from one program only, so that batches of that program collect it. */
export function onlyProgramOf(rows: readonly Subtotal[]): string | null {
  const [programId = null, ...others] = new Set(rows.map((row) => row.programId))
  return others.length === 0 ? programId : null
}

/** A batch that can be created: its currency, its totals, and the minimum that it meets. */
export interface BatchPlan extends ComputedBatch {
  currency: string
  minimumPayoutCents: number
  /** The affiliates that are left out because they have less than the minimum of an affiliate. */
  belowMinimum: string[]
}

/**
 * Parses the request body into a commission filter.
 *
 * @throws ApiError 400 `invalid_body`, or `period_invalid` unless the end is after the start.
 */
export function parseCandidateFilter(body: Body<'createPayout'>): CandidateFilter {
  const periodStart = parseBodyInstant('periodStart', body.periodStart)
  const periodEnd = parseBodyInstant('periodEnd', body.periodEnd)
  if (periodEnd <= periodStart)
    throw invalidField('period_invalid', 'periodEnd', 'must be after the start of the period.')
  const { currency, affiliateIds, programId } = body
  return { periodStart, periodEnd, includeEarlier: body.includeEarlier === true, currency, affiliateIds, programId }
}

/**
 * Checks whether these sums make a batch.
 *
 * @param ctx to create the batch, `ctx.shop` must be the row as read in its transaction
 * @param initialSums the sums read before the transaction: they distinguish too few commissions from commissions that a
 *   concurrent batch took
 *
 * @throws ApiError 404 `no_eligible_commissions`; 409 `payout_claimed_concurrently`,
 *   `payout_threshold_needs_reconciliation`, `payout_mixed_currencies`, `payout_below_threshold`,
 *   `payout_below_threshold_after_claim` or `total_too_large`.
 */
export function planBatch(
  ctx: Context,
  { periodEnd }: CandidateFilter,
  rows: Subtotal[],
  initialSums: Subtotal[],
): BatchPlan {
  const minimums = affiliateMinimumsByCurrency(ctx.shop)
  const initial = () => toEstimate(initialSums, periodEnd, minimums)
  return checkPlan(ctx, toEstimate(rows, periodEnd, minimums), initial)
}

/** The contents of a batch of some commissions. */
export interface Estimate {
  /** In alphabetical order. */
  currencies: string[]
  /** By currency, in the order of `currencies`; null when a sum exceeds the largest exact integer. */
  computed: (ComputedBatch | null)[]
  /** By currency: the affiliates that are left out because they have less than the minimum of an affiliate. */
  belowMinimum: Record<string, string[]>
}

/** @param minimums the least that a batch pays to one affiliate, in cents by currency */
export function toEstimate(rows: Subtotal[], periodEnd: string, minimums: Record<string, number> = {}): Estimate {
  const small = new Map(Object.entries(minimums).map(([name, cents]) => [name, affiliatesBelow(rows, name, cents)]))
  const payable = rows.filter((row) => !small.get(row.currency)?.has(row.affiliateId))
  const currencies = currenciesOf(payable)
  const byCurrency = Map.groupBy(payable, (row) => row.currency)
  const belowMinimum = [...small].filter(([, ids]) => ids.size > 0).map(([name, ids]) => [name, [...ids]])
  return {
    currencies,
    computed: currencies.map((name) => computeBatch(byCurrency.get(name) ?? [], periodEnd)),
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

/** {@link planBatch} for sums that were computed before. */
export function checkPlan(ctx: Context, estimate: Estimate, initial: () => Estimate): BatchPlan {
  const { currencies, computed: all } = estimate
  const [currency, ...others] = currencies
  if (currency === undefined) {
    if (initial().currencies.length > 0) throw claimedConcurrently()
    throw Object.keys(estimate.belowMinimum).length > 0 ? allBelowMinimum() : noneEligible()
  }
  if (others.length > 0) throw mixedCurrencies(currencies)
  const minimumPayoutCents = minimumPayout(ctx, currency)
  const [computed] = all
  if (!computed) throw batchTooLarge()
  const total = computed.totals.netPayableCents
  if (total < minimumPayoutCents) {
    const before = initial()
    const earlier = before.computed[before.currencies.indexOf(currency)]
    const isClaimed = earlier === null || (earlier && earlier.totals.netPayableCents >= minimumPayoutCents)
    const amounts = { total: money(total, currency), minimum: money(minimumPayoutCents, currency) }
    throw isClaimed ? belowMinimumAfterClaim(amounts) : belowMinimum(amounts)
  }
  return { ...computed, currency, minimumPayoutCents, belowMinimum: estimate.belowMinimum[currency] ?? [] }
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
export const batchTooLarge = () => totalTooLarge('Create several batches, by period, program or affiliate.')

const noneEligible = () =>
  notFound(
    'no_eligible_commissions',
    'No approved commission of this period is available for payout. Choose another period or approve commissions.',
  )

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
