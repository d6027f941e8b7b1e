import { ApiError, concurrentChange, conflict, invalidBody, invalidField } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { readFrom } from '../../core/lists.ts'
import { type AuditEntry, mutate } from '../../core/mutate.ts'
import type { WebhookEvent } from '../../core/outbox.ts'
import { checkPeriod, parseBodyInstant } from '../../core/time.ts'
import { chunks } from '../../database/chunks.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { forEachInSlices } from '../../database/event-loop.ts'
import { updateIfUnchanged, updateRows } from '../../database/rows.ts'
import type { CommissionRow } from '../../database/tables.ts'
import { decide } from '../../engine/decide.ts'
import type { AffiliateFact, Decision, Facts, Order } from '../../engine/facts.ts'
import { refundTarget } from '../../engine/refund.ts'
import { parseFacts, serializeFacts } from '../../engine/stored-facts.ts'
import { findAffiliatesById } from '../affiliates/queries.ts'
import { bindByFirstOrder, storeCustomer } from '../customers/binding.ts'
import { findCustomer } from '../customers/queries.ts'
import { type ChangedCommission, updateTotals } from '../ledger/batch-totals.ts'
import {
  clawbackRow,
  findCommissionsById,
  insertCommission,
  settleRefunds,
  termsColumns,
  toCommission,
} from '../ledger/commissions.ts'
import { isOrderCanceled } from '../ledger/order-notices.ts'
import { findDuplicateOf, updateOrder } from '../ledger/orders.ts'
import { adjustmentRejected, change, findEffectiveStatus, findRecordedOrder } from './commissions.ts'
import { statusEvents } from './event-queries.ts'
import {
  type ModerationFilter,
  type MovableCommissions,
  type MovableSums,
  movableReport,
  movableSumsReport,
} from './moderation-queries.ts'
import {
  findRefundedGoods,
  readRefundSnapshot,
  recomputeRefundedGoods,
  storeRefundedGoods,
  toRefundSnapshot,
} from './refunded-goods.ts'

export type { MovableSums }
export type ModerationAction = components['schemas']['ModerationAction']
type Status = CommissionRow['orderStatus']

interface Transition {
  from: Status[]
  to: Status
  /** The verb in the audit action and in the error message. */
  pastTense: string
}

/** The status changes that a user can make; all others are rejected. */
export const TRANSITIONS: Record<ModerationAction, Transition> = {
  approve: { from: ['PENDING'], to: 'APPROVED', pastTense: 'approved' },
  reject: { from: ['PENDING', 'APPROVED', 'ACCEPTED'], to: 'REJECTED', pastTense: 'rejected' },
  cancel: { from: ['PENDING', 'APPROVED', 'ACCEPTED', 'PAYABLE'], to: 'CANCELED', pastTense: 'canceled' },
  reverse: { from: ['PAID'], to: 'REVERSED', pastTense: 'reversed' },
  reopen: { from: ['REJECTED'], to: 'PENDING', pastTense: 'reopened' },
}

interface MovedCommission {
  row: CommissionRow
  audit: AuditEntry
  events: WebhookEvent[]
  /** The open batch that the commission left. Its totals must be recomputed. */
  left: (ChangedCommission & { batchId: string }) | undefined
  /** The adjustment that takes a paid commission back. */
  clawback: Clawback | undefined
}

/**
 * A row with the negative of what is left of a paid commission after its refunds. If nothing is left, there is no row.
 */
export interface Clawback {
  amountCents: number
  taxCents: number
  adjustmentId: string | null
}

/**
 * Changes the status of one commission.
 *
 * @throws ApiError 404 `commission_not_found`, 409 `commission_move_not_allowed`, `commission_is_adjustment`,
 *   `commission_still_restricted` or `concurrent_change`.
 */
export async function moderate(
  ctx: Context,
  action: ModerationAction,
  id: string,
): Promise<components['schemas']['Commission']> {
  return change(ctx, id, async (trx, before) => {
    const moved = await moveCommission(ctx, trx, action, before)
    const batchEvents = await recomputeLeftBatches(ctx, trx, [moved])
    return { result: toCommission(moved.row), audit: moved.audit, events: [...moved.events, ...batchEvents] }
  })
}

/** Changes the status in the caller's transaction. The caller recomputes the batch. Throws before it writes. */
export async function moveCommission(
  ctx: Context,
  trx: Transaction,
  action: ModerationAction,
  before: CommissionRow,
): Promise<MovedCommission> {
  const { from, to, pastTense: done } = TRANSITIONS[action]
  if (before.trackingMethod === 'ADJUSTMENT') throw adjustmentRejected()
  const { status, batch, sentFileId } = await findEffectiveStatus(ctx, trx, before)
  if (!from.includes(status)) {
    throw conflict('commission_move_not_allowed', `This commission is ${before.orderStatus} and cannot be ${done}.`)
  }
  const changes = {
    orderStatus: to,
    updatedAt: nowIso(ctx),
    ...(batch && { payoutBatchId: null }),
    // After approval, it is no longer a possible duplicate.
    ...(action === 'approve' && { restrictionReasonCode: null }),
    ...(action === 'reopen' && (await decideAgain(ctx, trx, before))),
  }
  if (!(await updateIfUnchanged(trx, 'commissions', before, changes))) throw concurrentChange()
  const row = { ...before, ...changes, version: before.version + 1 }
  if (sentFileId !== undefined)
    await updateRows(trx, 'payoutFiles', { shopId: ctx.shop.id, id: sentFileId }, { assumedPaid: 1 })
  const clawback = action === 'reverse' ? await clawBackPaid(ctx, trx, before) : undefined
  const data = {
    previousStatus: before.orderStatus,
    status: to,
    amountCents: clawback ? clawback.amountCents : row.commissionAmountCents,
    ...(clawback && { adjustmentId: clawback.adjustmentId }),
  }
  return {
    row,
    audit: { action: `commission.${done}`, subjectId: before.id, data },
    events: statusEvents(row, before.orderStatus),
    // Only the totals of an open batch follow its commissions.
    left: batch?.status === 'OPEN' ? { batchId: batch.id, before, after: row } : undefined,
    clawback,
  }
}

/** Recomputes the batches that commissions left. Returns their events. */
export async function recomputeLeftBatches(
  ctx: Context,
  trx: Transaction,
  moved: MovedCommission[],
): Promise<WebhookEvent[]> {
  const events: WebhookEvent[] = []
  const left = moved.flatMap((change) => change.left ?? [])
  for (const [batchId, changed] of Map.groupBy(left, (change) => change.batchId)) {
    events.push(...(await updateTotals(ctx, trx, batchId, changed)).events)
  }
  return events
}

/** Inserts an adjustment that takes back what is left of a paid commission after its refunds. */
async function clawBackPaid(ctx: Context, trx: Transaction, row: CommissionRow): Promise<Clawback> {
  const amounts = await planClawback(ctx, trx, row)
  if (amounts.amountCents === 0) return amounts
  const adjustment = clawbackRow(ctx, row, { name: 'reversal', ...amounts })
  await insertCommission(trx, ctx.shop.id, adjustment)
  return { ...amounts, adjustmentId: adjustment.id }
}

/** What a reversal takes back, before it is written. */
export async function planClawback(ctx: Context, db: Reader, row: CommissionRow): Promise<Clawback> {
  const snapshot = readRefundSnapshot(await findRecordedOrder(ctx, db, row.orderId))
  const left = refundTarget(snapshot, await findRefundedGoods(db, ctx.shop.id, row.id, snapshot))
  // `-0` would differ from the 0 in a stored response.
  return { amountCents: 0 - left.amountCents, taxCents: 0 - left.taxWithheldCents, adjustmentId: null }
}

type ModerationResult = components['schemas']['ModerationResult']

/** More would delay other changes for too long. The response says how many are left. */
const MAX_MOVED = 500

/**
 * Changes the status of many commissions, by IDs or by filter, in one transaction. Commissions that cannot be changed are
 * skipped and listed. With `dryRun` it only counts.
 *
 * @throws ApiError 400 `invalid_body` or `period_invalid`.
 */
export async function moderateMany(ctx: Context, body: Body<'moderateCommissions'>): Promise<ModerationResult> {
  if (Boolean(body.ids) === Boolean(body.filter)) throw invalidBody('Send either ids or filter, not both.')
  const filter = body.filter ? readModerationFilter(body.action, body.filter) : undefined
  if (body.dryRun) return previewMany(ctx, body, filter)
  const movable = filter && (await findMovable(ctx, filter, MAX_MOVED))
  const ids = movable?.ids ?? [...new Set(body.ids)]
  const remaining = movable ? movable.total - movable.ids.length : 0
  return changeMany(ctx, body.action, { ids, statuses: filter?.statuses, remaining })
}

interface FoundIds {
  ids: string[]
  /** Commissions whose status has changed meanwhile are left out. Without statuses, they are listed as skipped. */
  statuses: Status[] | undefined
  remaining: number
}

const changeMany = (ctx: Context, action: ModerationAction, { ids, statuses, remaining }: FoundIds) =>
  mutate(ctx, async (trx) => {
    const foundRows = await findCommissionsById(trx, ctx.shop.id, ids)
    // Another request may have changed some since they were found, so that they no longer match.
    const rows = statuses ? foundRows.filter((row) => statuses.includes(row.orderStatus)) : foundRows
    const { moved, skipped } = await moveAll(ctx, trx, action, rows)
    if (!statuses) for (const id of missingIds(ids, rows)) skipped.push({ id, code: 'commission_not_found' })
    const batchEvents = await recomputeLeftBatches(ctx, trx, moved)
    const events = [...moved.flatMap((change) => change.events), ...batchEvents]
    for (const event of events) event.isIndependent = true
    const result: ModerationResult = { action, dryRun: false, changed: moved.length, skipped, remaining }
    const data = { action, changed: result.changed, skipped: skipped.length }
    const summary = { action: 'commissions.moderated', subjectId: null, data }
    return { result, audit: [...moved.map(({ audit }) => audit), summary], events }
  })

type SentFilter = NonNullable<Body<'moderateCommissions'>['filter']>

/**
 * Changes the commissions that a filter matches now, up to `most` of them, in transactions of 500. Nothing changes
 * unless their number and totals equal the ones shown. Returns how many changed, and the totals that matched before.
 *
 * @throws ApiError 400 `invalid_body` or `period_invalid`, 409 `concurrent_change`.
 */
export async function moderateShown(
  ctx: Context,
  action: ModerationAction,
  { filter, areShown, most }: { filter: SentFilter; areShown: (sums: MovableSums) => boolean; most: number },
): Promise<{ changed: number; before: MovableSums }> {
  const query = readModerationFilter(action, filter)
  // Read before the totals: a commission added in between makes the totals differ, and a later one is not among the
  // IDs.
  const { ids } = await findMovable(ctx, query, most)
  const before = await sumMovable(ctx, action, filter)
  if (!areShown(before)) throw concurrentChange()
  let changed = 0
  for (const some of chunks(ids, MAX_MOVED))
    changed += (await changeMany(ctx, action, { ids: some, statuses: query.statuses, remaining: 0 })).changed
  return { changed, before }
}

/** The commissions that already have an action's status. */
export async function findMoved(
  ctx: Context,
  action: ModerationAction,
  ids: string[],
): Promise<components['schemas']['Commission'][]> {
  const rows = await findCommissionsById(ctx.db.read, ctx.shop.id, [...new Set(ids)])
  return rows.filter((row) => row.orderStatus === TRANSITIONS[action].to).map(toCommission)
}

const findMovable = (ctx: Context, filter: ModerationFilter, limit: number): Promise<MovableCommissions> =>
  readFrom(ctx, movableReport, { ...filter, limit })

async function moveAll(ctx: Context, trx: Transaction, action: ModerationAction, rows: CommissionRow[]) {
  const moved: MovedCommission[] = []
  const skipped: ModerationResult['skipped'] = []
  await forEachInSlices(trx, rows, async (row) => {
    try {
      moved.push(await moveCommission(ctx, trx, action, row))
    } catch (error) {
      // The action throws before it writes, so the others can continue.
      if (!(error instanceof ApiError) || error.status !== 409 || error.code === 'payout_processing') throw error
      skipped.push({ id: row.id, code: error.code })
    }
  })
  return { moved, skipped }
}

async function previewMany(
  ctx: Context,
  { action, ids }: Body<'moderateCommissions'>,
  filter: ModerationFilter | undefined,
): Promise<ModerationResult> {
  const { from } = TRANSITIONS[action]
  if (filter) {
    const totals = await readFrom(ctx, movableSumsReport, filter)
    const remaining = totals.reduce((sum, { commissions }) => sum + commissions, 0)
    return { action, dryRun: true, changed: 0, skipped: [], remaining, totals }
  }
  const rows = await findCommissionsById(ctx.db.read, ctx.shop.id, [...new Set(ids)])
  const movable = rows.filter((row) => from.includes(row.orderStatus) && row.trackingMethod !== 'ADJUSTMENT')
  const totals = [...Map.groupBy(movable, ({ currency }) => currency)].map(([currency, rows]) => ({
    currency,
    commissions: rows.length,
    commissionCents: rows.reduce((sum, row) => sum + row.commissionAmountCents, 0),
  }))
  return { action, dryRun: true, changed: 0, skipped: [], remaining: movable.length, totals }
}

const missingIds = (ids: string[], rows: CommissionRow[]) => {
  const foundIds = new Set(rows.map(({ id }) => id))
  return ids.filter((id) => !foundIds.has(id))
}

function readModerationFilter(action: ModerationAction, filter: SentFilter): ModerationFilter {
  const { from } = TRANSITIONS[action]
  const bounds = checkPeriod(parseBodyInstant('from', filter.from), parseBodyInstant('to', filter.to))
  const { status, affiliateId, programId, currency, minAmountCents, maxAmountCents } = filter
  if (status && !from.includes(status)) {
    throw invalidField('invalid_body', 'filter.status', `must be one of ${from.join(', ')} to ${action}.`)
  }
  const amounts = { currency, minAmountCents, maxAmountCents }
  return { statuses: status ? [status] : from, affiliateId, programId, ...amounts, ...bounds }
}

/**
 * The number and totals by currency of the commissions that a bulk action by filter would change.
 *
 * @throws ApiError 400 `invalid_body` or `period_invalid`.
 */
export function sumMovable(ctx: Context, action: ModerationAction, filter: SentFilter): Promise<MovableSums> {
  const query = readModerationFilter(action, filter)
  return readFrom(ctx, movableSumsReport, query)
}

/**
 * Decides a rejected order again from its stored facts and its affiliates' current statuses. New rates and new evidence
 * do not count. Stores facts and decision, and returns the commission's changes.
 *
 * @throws ApiError 409 `commission_still_restricted`, or `commission_move_not_allowed` if nothing is left of the order.
 */
async function decideAgain(ctx: Context, trx: Transaction, row: CommissionRow): Promise<Partial<CommissionRow>> {
  const order = await findRecordedOrder(ctx, trx, row.orderId)
  const { duplicateOf: _, ...recorded } = parseFacts(order.facts)
  // Meanwhile, another source's order may have been credited, or no longer be.
  const duplicateOf = await findDuplicateOf(trx, ctx.shop.id, { ...order, order: recorded.order }, [
    'REJECTED',
    'CANCELED',
  ])
  const known = await withCurrentStatuses(ctx, trx, recorded)
  const facts: Facts = { ...known, ...(duplicateOf !== undefined && { duplicateOf }) }
  const decision = decide(facts)
  if (!decision.eligible) {
    throw conflict(
      'commission_still_restricted',
      `This order still earns no commission: ${decision.restrictionReasonCode ?? decision.attribution.reasonCode}. Resolve the restriction and retry.`,
    )
  }
  const snapshot = toRefundSnapshot(facts, decision)
  const refunded = await recomputeRefundedGoods(trx, ctx.shop.id, row.id, { snapshot })
  const left = refundTarget(snapshot, refunded)
  const isGone = left.fullyRefunded || (await isOrderCanceled(trx, ctx.shop.id, row.orderId))
  if (isGone) throw conflict('commission_move_not_allowed', 'This order was canceled or refunded in full.')
  const changes = { facts: serializeFacts(facts), decision: JSON.stringify(decision), updatedAt: nowIso(ctx) }
  await updateOrder(trx, ctx.shop.id, { ...order, ...changes })
  if (refunded) {
    const { refundedCents } = left
    await storeRefundedGoods(trx, ctx.shop.id, row.id, { refunded, refundedCents, statusBefore: null })
    await settleRefunds(trx, ctx.shop.id, row.id, {
      amountCents: left.amountCents - decision.amountCents,
      taxCents: left.taxWithheldCents - decision.taxWithheldCents,
    })
  }
  const customer = decision.connectsCustomer && row.customer && (await findCustomer(trx, ctx.shop.id, row.customer))
  if (customer) {
    const winner = { affiliateId: row.affiliateId, programId: decision.programId }
    await storeCustomer(trx, await bindByFirstOrder(ctx, trx, { before: customer, row: customer }, winner))
  }
  return {
    ...decisionColumns(decision, facts.order),
    remainingBaseCents: left.remainingBaseCents,
    commissionAmountCents: left.amountCents,
    taxWithheldCents: left.taxWithheldCents,
  }
}

/** Columns that the first decision may have left empty. */
const decisionColumns = (decision: Decision, order: Order): Partial<CommissionRow> => ({
  ...termsColumns(decision, order),
  currency: decision.currency ?? order.currency,
  programId: decision.programId,
  commissionType: decision.commissionType,
  commissionRateBps: decision.rateBps,
  commissionBaseCents: decision.baseCents,
  attributionMethod: decision.attribution.method,
  attributionReasonCode: decision.attribution.reasonCode,
  restrictionReasonCode: decision.restrictionReasonCode,
})

async function withCurrentStatuses(ctx: Context, trx: Transaction, facts: Facts): Promise<Facts> {
  const today = new Map(
    (await findAffiliatesById(trx, ctx.shop.id, Object.keys(facts.affiliates))).map((row) => [row.id, row]),
  )
  const refresh = (fact: AffiliateFact): AffiliateFact => {
    const row = today.get(fact.id)
    return row ? { ...fact, status: row.status, archived: row.deletedAt !== null } : fact
  }
  const affiliates = Object.entries(facts.affiliates).map(([id, fact]) => [id, refresh(fact)])
  return { ...facts, affiliates: Object.fromEntries(affiliates) }
}
