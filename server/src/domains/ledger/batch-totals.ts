import { concurrentChange, notFound } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { type Context, nowIso } from '../../core/context.ts'
import type { WebhookEvent } from '../../core/outbox.ts'
import type { Transaction } from '../../database/database.ts'
import { updateIfUnchanged } from '../../database/rows.ts'
import type { BatchProcess, CommissionRow, PayoutBatchRow } from '../../database/tables.ts'
import { type CarriedDebt, carryDebts, type DebtRow, type PayoutTotals, payoutTotals } from '../../engine/payout.ts'
import { findLowestAmount, type Subtotal, sumLine } from './batch-commissions.ts'
import { adjustmentRow, insertCommissions } from './commissions.ts'
import { findBatch } from './payouts.ts'

type Schemas = components['schemas']

/** Converts a batch to the schema in openapi.yaml. A dry run has no ID. */
export function toBatch(row: Omit<PayoutBatchRow, 'id' | 'shopId' | 'version' | keyof Claim> & Partial<Claim> & Id) {
  const { commissions, affiliates, commissionCents, taxWithheldCents, netPayableCents } = row
  return {
    id: row.id,
    status: row.status,
    progress: row.process ? toProgress(row.process, row.movedCommissions) : null,
    periodStart: row.periodStart,
    periodEnd: row.periodEnd,
    includeEarlier: row.includeEarlier === 1,
    currency: row.currency,
    totals: { commissions, affiliates, commissionCents, taxWithheldCents, netPayableCents },
    heldBack: { commissions: row.heldBackCommissions, commissionCents: row.heldBackCents },
    onHold: {
      commissions: row.onHoldCommissions,
      commissionCents: row.onHoldCents,
      nextAvailableAt: row.nextAvailableAt,
    },
    minimumPayoutCents: row.minimumPayoutCents,
    failureReason: row.failureReason,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    paidAt: row.paidAt,
  } satisfies Schemas['PayoutBatch']
}

interface Id {
  id: string | null
}

/** Columns of the run that moves a batch's rows. */
export type Claim = Pick<PayoutBatchRow, 'process' | 'movedCommissions' | 'claimedBy' | 'claimedUntil'>

function toProgress(process: string, movedCommissions: number | null | undefined) {
  const { becomes, commissions } = JSON.parse(process) as BatchProcess
  return { becomes, movedCommissions: movedCommissions ?? 0, commissions }
}

/** A batch's event. @param previousStatus null for a new batch */
export const batchEvent = (
  event: 'payout.created' | 'payout.paid' | 'payout.failed',
  row: Omit<PayoutBatchRow, 'shopId' | 'version'>,
  previousStatus: PayoutBatchRow['status'] | null,
): WebhookEvent => ({ event, data: { ...toBatch(row), previousStatus } })

export const EMPTY_BATCH_REASON = 'Every commission left this batch before it was paid.'

export const payoutNotFound = () => notFound('payout_not_found', 'No payout batch with this id exists in your shop.')

/** A batch's commission before and after a change. `after.payoutBatchId` differs if the commission left the batch. */
export interface ChangedCommission {
  before: CommissionRow
  after: CommissionRow
}

/**
 * Updates an `OPEN` batch's totals by the difference, in the transaction that changed some of its commissions. Debts of
 * affiliates with a negative total are carried forward, and an empty batch becomes `FAILED`. Other batches do not
 * change. The caller must audit the change and send the returned events.
 *
 * @throws ApiError 404 `payout_not_found`, 409 `concurrent_change`.
 */
export async function updateTotals(
  ctx: Context,
  trx: Transaction,
  batchId: string,
  changed: ChangedCommission[],
): Promise<{ row: PayoutBatchRow; events: WebhookEvent[] }> {
  const batch = await findBatch(trx, ctx.shop.id, batchId)
  if (!batch) throw payoutNotFound()
  if (batch.status !== 'OPEN') return { row: batch, events: [] }
  const computed = await computeChanged(trx, batch, changed)
  // A batch's commissions only leave it or shrink, so its totals stay exact.
  if (!computed) throw new Error('The totals of a batch are no longer exact')
  const { totals, debts } = computed
  const emptied = totals.commissions === 0 ? ({ status: 'FAILED', failureReason: EMPTY_BATCH_REASON } as const) : {}
  const changes = { ...totals, ...emptied, updatedAt: nowIso(ctx) }
  if (!(await updateIfUnchanged(trx, 'payoutBatches', batch, changes))) throw concurrentChange()
  await insertDebts(ctx, trx, batchId, debts)
  const row = { ...batch, ...changes, version: batch.version + 1 }
  return { row, events: row.status === 'FAILED' ? [batchEvent('payout.failed', row, batch.status)] : [] }
}

/** Computes a batch from its stored totals, reading only the commissions of the affected affiliates. */
async function computeChanged(
  trx: Transaction,
  batch: PayoutBatchRow,
  changed: ChangedCommission[],
): Promise<ComputedBatch | null> {
  const { id, shopId, periodEnd } = batch
  const before = changed.map((change) => change.before)
  const after = changed.map((change) => change.after).filter((row) => row.payoutBatchId === id)
  const debts: Debt[] = []
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

/** A batch's totals after debts were carried forward, in cents. */
export interface ComputedBatch {
  totals: PayoutTotals
  debts: Debt[]
}

/** A debt that a batch carries forward. `programId` is set if it comes from a single program. */
export type Debt = CarriedDebt & { programId: string | null }

/**
 * Computes a batch from its commissions' totals, all in one currency. Affiliates with a negative total are raised to
 * zero, and their debt is carried forward. Null if a total exceeds the largest exact integer.
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

/** The program of a debt that comes from a single program, so that this program's batches collect it. */
export function onlyProgramOf(rows: readonly Subtotal[]): string | null {
  const [programId = null, ...others] = new Set(rows.map((row) => row.programId))
  return others.length === 0 ? programId : null
}

/** Inserts both rows of each debt, which add up to zero: one balances the batch, the next batch collects the other. */
export async function insertDebts(ctx: Context, trx: Transaction, batchId: string, debts: Debt[]): Promise<void> {
  const rows = debts.flatMap(({ balancing, open, programId }) => {
    const debtId = ctx.newId('com')
    const inBatch = { orderStatus: 'PAYABLE', payoutBatchId: batchId, programId, debtId } as const
    const next = { orderStatus: 'APPROVED', payoutBatchId: null, programId, debtId } as const
    return [carried(ctx, balancing, { ...inBatch, id: debtId }), carried(ctx, open, { ...next, id: ctx.newId('com') })]
  })
  await insertCommissions(trx, ctx.shop.id, rows)
}

/** A debt belongs to no single order, so its order ID contains the row's own ID. */
const carried = (
  ctx: Context,
  debt: DebtRow,
  place: Pick<CommissionRow, 'id' | 'orderStatus' | 'payoutBatchId' | 'programId' | 'debtId'>,
): Omit<CommissionRow, 'shopId'> =>
  adjustmentRow(ctx, { ...debt, ...place, orderCurrency: debt.currency, orderId: `adj:${place.id}:carry` })
