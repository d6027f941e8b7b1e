import { minimumsByCurrency } from '../accounts/settings.ts'
import { adjustmentRow, insertCommissions } from '../commissions/queries.ts'
import { ApiError, concurrentChange, conflict, invalid, notFound } from '../contract/errors.ts'
import type { Body } from '../contract/spec.ts'
import { type Context, nowIso } from '../core/context.ts'
import { parseBodyInstant } from '../core/time.ts'
import type { Transaction } from '../database/database.ts'
import type { CommissionRow, PayoutBatchRow } from '../database/tables.ts'
import {
  type CarriedDebt,
  carryDebts,
  currenciesOf,
  type DebtRow,
  type PayoutTotals,
  payoutTotals,
  resolveThreshold,
} from '../engine/payout.ts'
import { type CandidateFilter, findBatch, type Subtotal, sumBatch, updateBatchIfUnchanged } from './queries.ts'

const EMPTY_BATCH_REASON = 'Every commission left this batch before it was paid.'

export const payoutNotFound = () => notFound('payout_not_found', 'No payout batch with this id exists in your shop.')

/**
 * Brings the totals of an `OPEN` batch in line with its rows, in the transaction that changed a row. Affiliates whose
 * line fell below zero get their debt carried on; a batch without rows is `FAILED`. Any other batch stays as it is:
 * its totals are frozen. Answers the batch as it now is; the audit is the caller's.
 *
 * @throws ApiError 404 `payout_not_found`, 409 `concurrent_change`.
 */
export async function recomputeBatch(trx: Transaction, ctx: Context, batchId: string): Promise<PayoutBatchRow> {
  const batch = await findBatch(trx, ctx.shop.id, batchId)
  if (!batch) throw payoutNotFound()
  if (batch.status !== 'OPEN') return batch
  const settled = computeBatch(await sumBatch(trx, ctx.shop.id, batchId), batch.periodEnd)
  // Rows only leave a batch or shrink, and its totals were exact before.
  if (!settled) throw new Error('The totals of a batch are no longer exact')
  const { totals, debts } = settled
  const emptied = totals.commissions === 0 ? ({ status: 'FAILED', failureReason: EMPTY_BATCH_REASON } as const) : {}
  const changes = { ...totals, ...emptied, updatedAt: nowIso(ctx) }
  if (!(await updateBatchIfUnchanged(trx, ctx.shop.id, batch, changes))) throw concurrentChange()
  await insertDebts(ctx, trx, batchId, debts)
  return { ...batch, ...changes, version: batch.version + 1 }
}

/** What a batch comes to once nobody's line is below zero. Cents. */
export interface ComputedBatch {
  totals: PayoutTotals
  debts: (CarriedDebt & { programId: string | null })[]
}

/**
 * Computes a batch from the sums of its rows, all of one currency: affiliates who owe are lifted to zero. Null when a
 * sum cannot be exact.
 */
export function computeBatch(rows: readonly Subtotal[], periodEnd: string): ComputedBatch | null {
  const byAffiliate = Map.groupBy(rows, (row) => row.affiliateId)
  const carriedDebtRow = carryDebts(rows, periodEnd)
  const totals = carriedDebtRow && payoutTotals([...rows, ...carriedDebtRow.map((debt) => debt.balancing)])
  if (!totals) return null
  const debts = carriedDebtRow.map((debt) => ({
    ...debt,
    programId: onlyProgramOf(byAffiliate.get(debt.affiliateId) ?? []),
  }))
  return { totals, debts }
}

/** A debt that comes from one program stays with it, so that batches of that program collect it. */
function onlyProgramOf(rows: readonly Subtotal[]): string | null {
  const [programId = null, ...others] = new Set(rows.map((row) => row.programId))
  return others.length === 0 ? programId : null
}

/** Writes both rows of each debt: what balances the batch, and what the next batch collects. They add up to zero. */
export async function insertDebts(
  ctx: Context,
  trx: Transaction,
  batchId: string,
  debts: ComputedBatch['debts'],
): Promise<void> {
  const rows = debts.flatMap(({ balancing, open, programId }) => {
    const debtId = ctx.newId('com')
    const inBatch = { orderStatus: 'PAYABLE', payoutBatchId: batchId, programId, debtId } as const
    const waiting = { orderStatus: 'APPROVED', payoutBatchId: null, programId, debtId } as const
    return [
      carried(ctx, balancing, { ...inBatch, id: debtId }),
      carried(ctx, open, { ...waiting, id: ctx.newId('com') }),
    ]
  })
  await insertCommissions(trx, ctx.shop.id, rows)
}

/** A debt belongs to no single order, so each row is named after itself. */
const carried = (
  ctx: Context,
  debt: DebtRow,
  place: Pick<CommissionRow, 'id' | 'orderStatus' | 'payoutBatchId' | 'programId' | 'debtId'>,
): Omit<CommissionRow, 'shopId'> =>
  adjustmentRow(ctx, { ...debt, ...place, orderCurrency: debt.currency, orderId: `adj:${place.id}:carry` })

/** A batch that may be made: its currency, what it comes to, and the minimum it meets. */
export interface BatchPlan extends ComputedBatch {
  currency: string
  minimumPayoutCents: number
}

/**
 * Which commissions the body asks for.
 *
 * @throws ApiError 400 `invalid_body`, or `period_invalid` unless the end is after the start.
 */
export function readFilter(body: Body<'createPayout'>): CandidateFilter {
  const periodStart = parseBodyInstant('periodStart', body.periodStart)
  const periodEnd = parseBodyInstant('periodEnd', body.periodEnd)
  if (periodEnd <= periodStart) throw invalid('period_invalid', 'periodEnd must be after periodStart.')
  const { currency, affiliateIds, programId } = body
  return { periodStart, periodEnd, currency, affiliateIds, programId }
}

/**
 * Whether these sums make a batch. `seen` is what this call saw first: it tells what never sufficed from what another
 * batch took away meanwhile.
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
