import { storageUnavailable } from '../../contract/errors.ts'
import { type Context, nowIso } from '../../core/context.ts'
import type { Mutation } from '../../core/mutate.ts'
import { mutate } from '../../core/mutate.ts'
import { defineReport, type Transaction } from '../../database/database.ts'
import type { CommissionRow, PayoutJobRow, ReservationChangeRow } from '../../database/tables.ts'
import { heldBackTotals, payoutTotals } from '../../engine/payout.ts'
import { findJob, isReservation, listJobs } from '../ledger/jobs.ts'
import {
  type CandidateFilter,
  firstInstant,
  listIneligibleAffiliateIds,
  type Subtotal,
  sumVisible,
} from '../ledger/payouts.ts'
import {
  type BatchPlan,
  checkPlan,
  claimedConcurrently,
  computeBatch,
  type Estimate,
  MAX_AT_ONCE,
  toEstimate,
} from './batch.ts'
import { leaseEnd, newLease, StepSize, tryRunJob } from './jobs.ts'
import * as queries from './step-queries.ts'

/** The contents of a batch, read before it is created. */
interface Preview {
  estimate: Estimate
  commissions: number
  /** The affiliates whose commissions are held back, as of the start: all commissions of an affiliate are treated alike. */
  ineligibleIds: string[]
}

interface PreviewQuery {
  filter: CandidateFilter
  /** The least that a batch pays to one affiliate, in cents by currency. */
  minimums: Record<string, number>
}

/** Reads every commission of the period, so it runs in the report worker. */
export const previewReport = defineReport(
  import.meta.url,
  'previewReport',
  async (db, { shopId, query: { filter, minimums } }: { shopId: string; query: PreviewQuery }): Promise<Preview> => {
    const sums = await sumVisible(db, shopId, filter, { isPayable: true })
    const commissions = sums.reduce((sum, row) => sum + row.commissions, 0)
    const estimate = withoutDebts(toEstimate(sums, filter.periodEnd, minimums))
    return { estimate, commissions, ineligibleIds: await listIneligibleAffiliateIds(db, shopId) }
  },
  { isLong: true },
)

/** The batch that would be created, and what it would hold back by currency; null when that sum is too large. */
export interface DryRun {
  estimate: Estimate
  heldBack: Record<string, ReturnType<typeof heldBackTotals>>
}

/** Reads every commission of the period once. The affiliates are many, and only sums are copied between threads. */
export const dryRunReport = defineReport(
  import.meta.url,
  'dryRunReport',
  async (db, { shopId, query: { filter, minimums } }: { shopId: string; query: PreviewQuery }): Promise<DryRun> => {
    const ineligible = new Set(await listIneligibleAffiliateIds(db, shopId))
    const { payable = [], held = [] } = Object.groupBy(await sumVisible(db, shopId, filter), ({ affiliateId }) =>
      ineligible.has(affiliateId) ? 'held' : 'payable',
    )
    const estimate = withoutDebts(toEstimate(payable, filter.periodEnd, minimums))
    const belowMinimum = Object.fromEntries(Object.keys(estimate.belowMinimum).map((currency) => [currency, []]))
    const heldBack = [...Map.groupBy(held, ({ currency }) => currency)].map(
      ([currency, rows]) => [currency, heldBackTotals(rows)] as const,
    )
    return { estimate: { ...estimate, belowMinimum }, heldBack: Object.fromEntries(heldBack) }
  },
  { isLong: true },
)

/** Only the totals are needed, and are copied between threads. */
const withoutDebts = ({ currencies, computed, belowMinimum }: Estimate): Estimate => ({
  currencies,
  belowMinimum,
  computed: computed.map((one) => one && { ...one, debts: [] }),
})

/** The commissions that a batch cannot pay. */
export interface HeldBackSum {
  commissions: number
  commissionAmountCents: bigint
}

/** A batch that can be inserted, and what it holds back. */
interface CreatedBatch {
  plan: BatchPlan
  /** Steps follow, which can insert its debts. */
  hasSteps: boolean
  heldBack: HeldBackSum
}

/** Inserts the batch in the caller's transaction. */
type Insert<T> = (trx: Transaction, batch: { id: string } & CreatedBatch) => Promise<Mutation<T>>

/**
 * Creates a batch of commissions of which there may be a million. Candidates are found outside of the shop's lock and
 * reserved in short steps; one transaction then creates the batch. Before it, nothing of the batch is visible, and an error
 * releases the reservation. Afterwards, commissions are updated in steps and reads derive their final state.
 *
 * @throws ApiError as {@link checkPlan}; 503 when the server stops.
 */
export async function createLargeBatch<T>(
  ctx: Context,
  filter: CandidateFilter,
  { estimate, commissions, ineligibleIds }: Preview,
  insert: Insert<T>,
): Promise<T> {
  const { currency, belowMinimum } = checkPlan(ctx, estimate, () => estimate)
  const excluded = { ineligibleIds: new Set(ineligibleIds), belowMinimum: new Set(belowMinimum) }
  const candidates = new CandidateReader(ctx, { ...filter, currency }, excluded)
  if (commissions <= MAX_AT_ONCE) return createSmallBatch(ctx, candidates, estimate, insert)
  const lease = { shopId: ctx.shop.id, batchId: ctx.newId('bat'), ...newLease(ctx) }
  try {
    await ctx.db.transact((trx) => startJob(ctx, trx, lease, candidates.filter), ctx.shop.id)
    const sums = await reserveAll(ctx, candidates, lease)
    return await commitBatch(ctx, { lease, sums, candidates, estimate }, insert)
  } finally {
    // Completes a batch that was created, and gives up one that was not.
    await tryRunJob(ctx, lease)
  }
}

/** For a small batch in a shop with many approved commissions: candidates are read before the transaction. */
async function createSmallBatch<T>(
  ctx: Context,
  candidates: CandidateReader,
  estimate: Estimate,
  insert: Insert<T>,
): Promise<T> {
  const ids: string[] = []
  for await (const some of candidates.pages()) ids.push(...some)
  return mutate(ctx, async (trx, shop) => {
    await rejectOverlap(trx, shop.id, candidates.filter)
    const id = ctx.newId('bat')
    const sums = new BatchSums()
    sums.add(await queries.assignCommissions(trx, { shopId: shop.id, batchId: id, updatedAt: nowIso(ctx) }, ids))
    const plan = checkPlan({ ...ctx, shop }, sums.estimate(candidates.filter, []), () => estimate)
    return insert(trx, { id, plan, heldBack: candidates.heldBack, hasSteps: false })
  })
}

async function startJob(
  ctx: Context,
  trx: Transaction,
  key: Pick<PayoutJobRow, 'shopId' | 'batchId' | 'claimedBy' | 'claimedUntil'>,
  filter: CandidateFilter,
): Promise<void> {
  await rejectOverlap(trx, key.shopId, filter)
  await queries.insertJob(trx, {
    ...key,
    phase: 'RESERVING',
    changedAt: nowIso(ctx),
    filter: JSON.stringify(filter),
    idempotencyKey: ctx.idempotency?.key ?? null,
    cursorAt: null,
    cursorId: null,
  })
}

/**
 * Two batches that select the same commissions must not be created at the same time: each would get an arbitrary part.
 *
 * @throws ApiError 409 `payout_claimed_concurrently`.
 */
export async function rejectOverlap(trx: Transaction, shopId: string, filter: CandidateFilter): Promise<void> {
  const jobs = await listJobs(trx, shopId)
  const reserving = jobs.filter(({ phase }) => isReservation(phase))
  if (reserving.some((job) => job.filter && overlaps(filter, JSON.parse(job.filter)))) throw claimedConcurrently()
}

function overlaps(a: CandidateFilter, b: CandidateFilter): boolean {
  const isSame = (one?: string | null, other?: string | null) => !one || !other || one === other
  const affiliateIds = new Set(b.affiliateIds)
  return (
    firstInstant(a) <= b.periodEnd &&
    firstInstant(b) <= a.periodEnd &&
    isSame(a.currency, b.currency) &&
    isSame(a.programId, b.programId) &&
    (!a.affiliateIds || !b.affiliateIds || a.affiliateIds.some((id) => affiliateIds.has(id)))
  )
}

type Candidate = Pick<
  CommissionRow,
  'affiliateId' | 'programId' | 'currency' | 'commissionAmountCents' | 'payoutBatchId'
>

/** The affiliates that a batch does not pay, as of the start: all commissions of an affiliate are treated alike. */
interface Excluded {
  ineligibleIds: Set<string>
  belowMinimum: Set<string>
}

/** Finds the candidates of a batch, outside of any transaction. */
class CandidateReader {
  readonly filter: CandidateFilter
  readonly heldBack: HeldBackSum = { commissions: 0, commissionAmountCents: 0n }
  readonly #ctx: Context
  readonly #excluded: Excluded
  readonly #affiliateIds: Set<string> | undefined

  constructor(ctx: Context, filter: CandidateFilter, excluded: Excluded) {
    this.#ctx = ctx
    this.filter = filter
    this.#excluded = excluded
    this.#affiliateIds = filter.affiliateIds ? new Set(filter.affiliateIds) : undefined
  }

  /** The ids of the candidates, a page at a time. */
  async *pages(): AsyncGenerator<string[]> {
    for await (const page of queries.readApproved(this.#ctx.db.read, this.#ctx.shop.id, this.filter)) {
      yield page.filter((row) => this.#isCandidate(row)).map(({ id }) => id)
    }
  }

  #isCandidate(row: Candidate): boolean {
    const { currency, programId } = this.filter
    if (row.payoutBatchId !== null || row.commissionAmountCents === 0) return false
    if (currency && row.currency !== currency) return false
    if (programId && row.programId !== programId) return false
    if (this.#affiliateIds && !this.#affiliateIds.has(row.affiliateId)) return false
    if (this.#excluded.belowMinimum.has(row.affiliateId)) return false
    if (!this.#excluded.ineligibleIds.has(row.affiliateId)) return true
    this.heldBack.commissions++
    this.heldBack.commissionAmountCents += BigInt(row.commissionAmountCents)
    return false
  }
}

/** Reserves every candidate in steps. */
async function reserveAll(ctx: Context, candidates: CandidateReader, lease: queries.Lease): Promise<BatchSums> {
  const sums = new BatchSums()
  const size = new StepSize()
  for await (const ids of candidates.pages()) {
    while (ids.length > 0) {
      if (ctx.stopping.aborted) throw storageUnavailable(new Error('The server stops'))
      const some = ids.splice(0, size.rows)
      const reserve = async (trx: Transaction) => {
        // Sent together, so that the shop is locked for one round trip.
        const reserving = queries.reserveCommissions(trx, lease, some)
        const [isHeld, reserved] = await Promise.all([
          queries.updateJob(trx, lease, { claimedUntil: leaseEnd(ctx) }),
          reserving,
        ])
        if (!isHeld) throw claimedConcurrently()
        return reserved
      }
      sums.add(await ctx.db.transact((trx) => size.measure(trx, () => reserve(trx)), lease.shopId))
    }
  }
  size.report(ctx, lease.batchId, 'RESERVING')
  return sums
}

/** @throws ApiError 409 `payout_claimed_concurrently` when another run has given it up. */
async function requireLease(trx: Transaction, { shopId, batchId, claimedBy }: queries.Lease): Promise<void> {
  const job = await findJob(trx, shopId, batchId)
  if (job?.claimedBy !== claimedBy || job.phase !== 'RESERVING') throw claimedConcurrently()
}

interface Reservation {
  lease: queries.Lease
  sums: BatchSums
  candidates: CandidateReader
  estimate: Estimate
}

/** Creates the batch of a reservation in one transaction. */
const commitBatch = <T>(ctx: Context, { lease, sums, candidates, estimate }: Reservation, insert: Insert<T>) =>
  mutate(ctx, async (trx, shop) => {
    await requireLease(trx, lease)
    const changes = await queries.listReservationChanges(trx, lease)
    const plan = checkPlan({ ...ctx, shop }, sums.estimate(candidates.filter, changes), () => estimate)
    await queries.deleteReservationChanges(trx, lease)
    const changedAt = nowIso(ctx)
    await queries.updateJob(trx, lease, { phase: 'ASSIGNING', changedAt, idempotencyKey: null })
    return insert(trx, { id: lease.batchId, plan, heldBack: candidates.heldBack, hasSteps: true })
  })

type Sum = Pick<Subtotal, 'commissions' | 'commissionAmountCents' | 'taxWithheldCents'>
type Amounts = { commissionAmountCents: number | bigint; taxWithheldCents: number | bigint; commissions?: number }

const emptySum = (): Sum => ({ commissions: 0, commissionAmountCents: 0n, taxWithheldCents: 0n })

function addTo(sum: Sum, { commissions = 1, commissionAmountCents, taxWithheldCents }: Amounts): void {
  sum.commissions += commissions
  sum.commissionAmountCents += BigInt(commissionAmountCents)
  sum.taxWithheldCents += BigInt(taxWithheldCents)
}

const isNegative = ({ commissionAmountCents, taxWithheldCents }: Sum) => commissionAmountCents < taxWithheldCents

/** The sums of a batch of one currency, as commissions are added. Computing the totals reads only debtors and changes. */
class BatchSums {
  /** By affiliate and program. */
  readonly #lines = new Map<string, AffiliateSums>()
  readonly #debtors = new Set<string>()
  readonly #total = emptySum()

  add(rows: queries.Reserved[]): void {
    for (const row of rows) {
      const line = this.#lines.get(row.affiliateId) ?? new AffiliateSums()
      this.#lines.set(row.affiliateId, line)
      line.add(row)
      addTo(this.#total, row)
      if (isNegative(line.total)) this.#debtors.add(row.affiliateId)
      else this.#debtors.delete(row.affiliateId)
    }
  }

  /** The batch after commissions changed since they were added. Does not keep the changes. */
  estimate({ currency, periodEnd }: CandidateFilter, changes: ReservationChangeRow[]): Estimate {
    const total = { ...this.#total }
    const changed = new Map<string, AffiliateSums>()
    for (const { commissionCents, ...change } of changes) {
      const line = changed.get(change.affiliateId) ?? this.#lines.get(change.affiliateId)?.copy() ?? new AffiliateSums()
      changed.set(change.affiliateId, line)
      const amounts = { ...change, commissionAmountCents: commissionCents }
      line.add(amounts)
      addTo(total, amounts)
    }
    if (!currency || total.commissions === 0) return { currencies: [], computed: [], belowMinimum: {} }
    const lineOf = (id: string) => changed.get(id) ?? this.#lines.get(id)
    const gone = [...changed.values()].filter((line) => line.total.commissions === 0).length
    const debtors = [...new Set([...this.#debtors, ...changed.keys()])]
    const carried = computeBatch(
      debtors.flatMap((id) => lineOf(id)?.subtotals(id, currency) ?? []),
      periodEnd,
    )
    if (!carried) return { currencies: [currency], computed: [null], belowMinimum: {} }
    const { debts } = carried
    const rows = [{ ...total, affiliateId: '', currency }, ...debts.map((debt) => debt.balancing)]
    const totals = payoutTotals(rows)
    const affiliates = this.#lines.size - gone
    const computed = [totals && { totals: { ...totals, affiliates }, debts }]
    return { currencies: [currency], computed, belowMinimum: {} }
  }
}

/** The sums of one affiliate. */
class AffiliateSums {
  readonly total = emptySum()
  readonly #programs = new Map<string | null, Sum>()

  add(row: Amounts & { programId: string | null }): void {
    const sum = this.#programs.get(row.programId) ?? emptySum()
    this.#programs.set(row.programId, sum)
    addTo(sum, row)
    addTo(this.total, row)
  }

  copy(): AffiliateSums {
    const line = new AffiliateSums()
    for (const [programId, sum] of this.#programs) line.add({ ...sum, programId })
    return line
  }

  subtotals(affiliateId: string, currency: string): Subtotal[] {
    const present = [...this.#programs].filter(([, sum]) => sum.commissions > 0)
    return present.map(([programId, sum]) => ({ ...sum, affiliateId, programId, currency }))
  }
}
