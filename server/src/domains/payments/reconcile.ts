import { payoutProcessing } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { type AuditEntry, mutate } from '../../core/mutate.ts'
import { enqueue } from '../../core/outbox.ts'
import { chunks } from '../../database/chunks.ts'
import type { Transaction } from '../../database/database.ts'
import { updateRows } from '../../database/rows.ts'
import type { PayoutFileRow, PayoutLineRow } from '../../database/tables.ts'
import { decideResult, lineIdOf, type PaymentDecision } from '../../engine/payment-line.ts'
import { findPaidEvents } from '../commissions/event-queries.ts'
import { adjustmentRow, insertCommission } from '../ledger/commissions.ts'
import { findFile, findLines, findPaidAt, listUnpaid, sumFiles, updateToPaidById } from '../ledger/payment-lines.ts'
import { findBatch } from '../ledger/payouts.ts'
import { payBatch } from '../payouts/payouts.ts'
import { awaitBatch } from '../payouts/process.ts'

type Schemas = components['schemas']
type PaymentResult = Schemas['PaymentResult']
type Reconciled = Schemas['ReconciledResult']

/** How many results are recorded in one transaction. */
const MAX_RESULTS_AT_ONCE = 50
/** How many commissions become paid in one transaction. */
const MAX_PAID_AT_ONCE = 250

/** A result and the line it names. */
interface Match {
  /** The result's position in the request. */
  index: number
  result: PaymentResult
  lineId: string
  batchId: string
}

/**
 * Records reported payment results. Repeated results have no effect. Unknown references and mismatches are returned. A
 * batch's results are recorded in the order in which they were sent, some at a time.
 */
export async function reconcile(
  ctx: Context,
  { results, dryRun }: Body<'reconcilePayouts'>,
): Promise<Schemas['ReconciliationReply']['data']> {
  const ids = results.map(({ paymentReference }) => lineIdOf(paymentReference))
  const known = new Map(
    (await findLines(ctx.db.read, ctx.shop.id, [...new Set(ids.filter((id) => id !== undefined))])).map((row) => [
      row.id,
      row,
    ]),
  )
  if (dryRun) return replyOf(previewDecisions(results, known))
  const reported: Reconciled[] = results.map(({ paymentReference }) => ({ paymentReference, ...UNKNOWN }))
  const matches = results.flatMap((result, index): Match[] => {
    const line = known.get(ids[index] ?? '')
    return line ? [{ index, result, lineId: line.id, batchId: line.batchId }] : []
  })
  for (const [batchId, ofBatch] of Map.groupBy(matches, (match) => match.batchId)) {
    for (const some of chunks(ofBatch, MAX_RESULTS_AT_ONCE))
      for (const [index, done] of await record(ctx, batchId, some)) reported[index] = done
  }
  for (const [result, some] of Map.groupBy(reported, ({ result }) => result)) ctx.countPayments(result, some.length)
  return replyOf(reported)
}

function replyOf(results: Reconciled[]): Schemas['ReconciliationReply']['data'] {
  const count = (outcome: Reconciled['result']) => results.filter(({ result }) => result === outcome).length
  return { settled: count('settled'), returned: count('returned'), results }
}

/** Decides each result as if the results before it were recorded. */
export function previewDecisions(
  results: readonly Schemas['PaymentResult'][],
  known: ReadonlyMap<string, PayoutLineRow>,
): Reconciled[] {
  const lines = new Map(known)
  return results.map((result): Reconciled => {
    const { paymentReference } = result
    const line = lines.get(lineIdOf(paymentReference) ?? '')
    if (!line) return { paymentReference, ...UNKNOWN }
    const decision = decideResult(line, toFacts(result))
    if (decision === 'settled' || decision === 'returned') {
      const state = decision === 'settled' ? 'SETTLED' : 'RETURNED'
      lines.set(line.id, { ...line, state, reference: result.reference ?? null })
    }
    const { id: lineId, batchId, affiliateId, amountCents } = line
    return { paymentReference, result: decision, lineId, batchId, affiliateId, amountCents }
  })
}

const UNKNOWN = { result: 'unknown' as const, lineId: null, batchId: null, affiliateId: null, amountCents: null }

type Done = [index: number, reported: Reconciled][]

/** Records some of a batch's results. */
async function record(ctx: Context, batchId: string, matches: Match[]): Promise<Done> {
  await awaitBatch(ctx, batchId)
  await payAhead(ctx, matches)
  const done = await recordAtOnce(ctx, batchId, matches)
  await payIfComplete(ctx, batchId)
  return done
}

const recordAtOnce = (ctx: Context, batchId: string, matches: Match[]): Promise<Done> =>
  mutate(ctx, async (trx) => {
    const batch = await findBatch(trx, ctx.shop.id, batchId)
    if (batch?.status === 'PROCESSING') throw payoutProcessing()
    const rows = new Map(
      (
        await findLines(
          trx,
          ctx.shop.id,
          matches.map(({ lineId }) => lineId),
        )
      ).map((row) => [row.id, row]),
    )
    const changed = new Map<string, Change>()
    const done: Done = matches.map(({ index, result, lineId }) => {
      const before = changed.get(lineId)?.after ?? rows.get(lineId)
      // Its file was discarded since it was found.
      if (!before) return [index, { paymentReference: result.paymentReference, ...UNKNOWN }]
      const decision = decideResult(before, toFacts(result))
      if (decision === 'settled' || decision === 'returned') {
        const after = { ...before, ...toChanges(ctx, decision, result) }
        changed.set(lineId, { before: rows.get(lineId) ?? before, after })
      }
      return [index, toReported(result, before, decision)]
    })
    if (changed.size === 0) return { result: done, audit: null }
    const at = nowIso(ctx)
    const { audits, paidIds } = await apply(ctx, trx, { batchId, paidAt: at }, [...changed.values()])
    const of = (decision: PaymentDecision) => done.filter(([, { result }]) => result === decision).length
    const data = { settled: of('settled'), returned: of('returned') }
    const summary = { action: 'payout.reconciled', subjectId: batchId, data }
    return {
      result: done,
      audit: [...audits, summary],
      extendedEvents: () => findPaidEvents(trx, { shopId: ctx.shop.id, batchId }, paidIds),
    }
  })

/** A batch, and the instant at which its commissions are paid. */
interface PaidBatch {
  batchId: string
  paidAt: string
}

/** A line before and after a transaction's results. */
interface Change {
  before: PayoutLineRow
  after: PayoutLineRow
}

const toFacts = ({ outcome, amountCents, currency, reference }: PaymentResult) => ({
  outcome,
  amountCents: amountCents ?? null,
  currency: currency ?? null,
  reference: reference ?? null,
})

const toChanges = (
  ctx: Context,
  decision: 'settled' | 'returned',
  { date, reason, reference }: PaymentResult,
): Partial<PayoutLineRow> => ({
  state: decision === 'settled' ? 'SETTLED' : 'RETURNED',
  date: date ?? nowIso(ctx).slice(0, 10),
  reason: decision === 'settled' ? null : (reason ?? null),
  reference: reference ?? null,
  updatedAt: nowIso(ctx),
})

const toReported = ({ paymentReference }: PaymentResult, line: PayoutLineRow, result: PaymentDecision): Reconciled => ({
  paymentReference,
  result,
  lineId: line.id,
  batchId: line.batchId,
  affiliateId: line.affiliateId,
  amountCents: line.amountCents,
})

/** Writes changed lines: marks their commissions as paid, and makes returned amounts payable again. */
async function apply(
  ctx: Context,
  trx: Transaction,
  batch: PaidBatch,
  changes: Change[],
): Promise<{ audits: AuditEntry[]; paidIds: string[] }> {
  const audits: AuditEntry[] = []
  const paidIds: string[] = []
  for (const [fileId, ofFile] of Map.groupBy(changes, ({ after }) => after.fileId)) {
    const file = await findFile(trx, ctx.shop.id, fileId)
    if (!file) throw new Error('The file of a line is missing')
    for (const { before, after } of ofFile) {
      await updateRows(trx, 'payoutLines', { shopId: after.shopId, id: after.id }, after)
      if (before.state === 'SENT') paidIds.push(...(await payLine(ctx, trx, { batch, line: after, file })))
      if (after.state === 'RETURNED') audits.push(await addReturned(ctx, trx, after))
    }
    await updateFileSums(ctx, trx, file, ofFile)
  }
  if (paidIds.length > 0) await updateToPaidById(trx, ctx.shop.id, batch, paidIds)
  return { audits, paidIds }
}

interface LinePayment {
  batch: PaidBatch
  line: PayoutLineRow
  file: PayoutFileRow
}

/** The commissions that a line pays. If some were paid ahead, the rest is part of the same payment. */
async function payLine(ctx: Context, trx: Transaction, { batch, line, file }: LinePayment): Promise<string[]> {
  const ids = await listUnpaid(trx, ctx.shop.id, line, MAX_PAID_AT_ONCE)
  const paidAt = file.assumedPaid && ids.length > 0 ? await findPaidAt(trx, ctx.shop.id, line) : undefined
  if (paidAt) await updateToPaidById(trx, ctx.shop.id, { ...batch, paidAt }, ids)
  return ids
}

/** The order ID is unique, so an amount can be returned only once. */
async function addReturned(ctx: Context, trx: Transaction, line: PayoutLineRow): Promise<AuditEntry> {
  const { id: lineId, affiliateId, programId, currency, amountCents } = line
  const adjustment = adjustmentRow(ctx, {
    id: ctx.newId('com'),
    orderId: `adj:${lineId}:returned`,
    affiliateId,
    programId,
    currency,
    orderCurrency: currency,
    // Tax was withheld when the commissions were paid.
    commissionAmountCents: amountCents,
    taxWithheldCents: 0,
    orderStatus: 'APPROVED',
    payoutBatchId: null,
    debtId: null,
    happenedAt: nowIso(ctx),
  })
  await insertCommission(trx, ctx.shop.id, adjustment)
  const data = { affiliateId, amountCents, currency, adjustmentId: adjustment.id }
  return { action: 'payout_line.returned', subjectId: lineId, data }
}

async function updateFileSums(ctx: Context, trx: Transaction, file: PayoutFileRow, changes: Change[]): Promise<void> {
  let { settledLines, settledCents, returnedLines, returnedCents } = file
  for (const { before, after } of changes) {
    if (before.state === 'SETTLED') {
      settledLines--
      settledCents -= before.amountCents
    }
    if (after.state === 'SETTLED') {
      settledLines++
      settledCents += after.amountCents
    } else {
      returnedLines++
      returnedCents += after.amountCents
    }
  }
  const sums = { settledLines, settledCents, returnedLines, returnedCents }
  const { shopId, id } = file
  await updateRows(trx, 'payoutFiles', { shopId, id }, { ...sums, updatedAt: nowIso(ctx) })
}

/** Marks a batch as paid once all of its payments are settled or returned. */
async function payIfComplete(ctx: Context, batchId: string): Promise<void> {
  const batch = await findBatch(ctx.db.read, ctx.shop.id, batchId)
  if (batch?.status !== 'OPEN') return
  const { isPreparing, settledCents, returnedCents } = await sumFiles(ctx.db.read, ctx.shop.id, batchId)
  // No line pays less than zero, so the other lines have nothing left.
  if (!isPreparing && settledCents + returnedCents === batch.netPayableCents) await payBatch(ctx, batch)
}

/**
 * Marks commissions as paid in steps for affiliates with very many, before their lines are settled. A sent line counts
 * as paid, so nothing else depends on when its commissions follow.
 */
async function payAhead(ctx: Context, matches: Match[]): Promise<void> {
  const lines = await findLines(
    ctx.db.read,
    ctx.shop.id,
    matches.map(({ lineId }) => lineId),
  )
  const changes = (line: PayoutLineRow) =>
    matches.some(({ lineId, result }) => {
      const decision = lineId === line.id && decideResult(line, toFacts(result))
      return decision === 'settled' || decision === 'returned'
    })
  let left = MAX_PAID_AT_ONCE
  for (const line of lines.filter((line) => line.state === 'SENT' && changes(line))) {
    for (;;) {
      const ids = await listUnpaid(ctx.db.read, ctx.shop.id, line, MAX_PAID_AT_ONCE + 1)
      // The rest fits into the transaction that settles the lines.
      if (ids.length <= left) {
        left -= ids.length
        break
      }
      if (!(await payStep(ctx, line))) break
    }
  }
}

/**
 * Marks some of a line's commissions as paid, all at the first ones' instant, because a payment is one entry in a
 * statement.
 *
 * @returns false when the line's file was discarded.
 */
async function payStep(ctx: Context, line: PayoutLineRow): Promise<boolean> {
  const { batchId, fileId } = line
  const hasDeliveries = await ctx.db.transact(async (trx, chain) => {
    const file = await findFile(trx, ctx.shop.id, fileId)
    if (!file || file.status === 'DISCARDED') return undefined
    if (!file.assumedPaid) await updateRows(trx, 'payoutFiles', { shopId: ctx.shop.id, id: fileId }, { assumedPaid: 1 })
    const ids = await listUnpaid(trx, ctx.shop.id, line, MAX_PAID_AT_ONCE)
    const paidAt = (await findPaidAt(trx, ctx.shop.id, line)) ?? nowIso(ctx)
    await updateToPaidById(trx, ctx.shop.id, { batchId, paidAt }, ids)
    const extendedEvents = () => findPaidEvents(trx, { shopId: ctx.shop.id, batchId }, ids)
    return enqueue(ctx, { trx, chain }, { events: [], extendedEvents })
  }, ctx.shop.id)
  if (hasDeliveries) ctx.wakeDispatcher()
  return hasDeliveries !== undefined
}
