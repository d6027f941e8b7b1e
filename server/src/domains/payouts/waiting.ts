import { ApiError } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Body } from '../../contract/spec.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { readFrom } from '../../core/lists.ts'
import { type Page, toPage } from '../../core/pagination.ts'
import { defineReport, type Reader } from '../../database/database.ts'
import { type BlockedReason, blockedReason, type PaymentMethod } from '../../engine/payment-line.ts'
import { affiliateMinimumsByCurrency } from '../accounts/settings.ts'
import { findMethods } from '../affiliates/queries.ts'
import { type CandidateFilter, countApproved } from '../ledger/batch-commissions.ts'
import { type BalanceQuery, type BalanceReason, readBalances } from './balances.ts'
import { minimumPayout, parseCandidateFilter } from './batch.ts'
import { create, findContacts } from './payouts.ts'
import { listApprovedCurrencies, sumInOpenBatches } from './waiting-queries.ts'

type Schemas = components['schemas']

/** What happens to an affiliate's approved balance if a batch of everything is created now. */
export const WAITING_PARTS = ['PAYABLE', 'BLOCKED', 'ON_HOLD', 'BELOW_MINIMUM', 'DEBT', 'HELD_BACK'] as const
/** `BLOCKED`: a batch includes it, but its payment cannot be sent. */
export type WaitingPart = BalanceReason | 'BLOCKED'

interface WaitingSum {
  affiliates: number
  commissions: number
  /** After tax. */
  netPayableCents: number
}

/** Approved commissions in one currency that are in no batch. */
export interface WaitingSums {
  currency: string
  parts: Partial<Record<WaitingPart, WaitingSum>>
  /** Commissions in open batches. */
  inOpenBatches: Omit<WaitingSum, 'affiliates'>
  /** The minimum per batch. Null while two settings for it differ. */
  minimumPayoutCents: number | null
}

/** An affiliate's approved balance that is in no batch. */
interface WaitingBalance extends Omit<WaitingSum, 'affiliates'> {
  affiliateId: string
  currency: string
  part: WaitingPart
  method: PaymentMethod | null
  reason: BlockedReason | null
  commissionCents: number
}

export interface WaitingAffiliate extends WaitingBalance {
  name: string
  email: string
}

/** A page of affiliates in some parts. */
export interface WaitingList {
  currency: string
  parts: readonly WaitingPart[]
  page: number
  limit: number
}

interface WaitingQuery {
  /** The minimum per affiliate in a batch, in cents by currency. */
  minimums: Record<string, number>
  at: string
  /** Defaults to everything. */
  filter?: CandidateFilter
  list?: WaitingList
}

interface Found {
  sums: Omit<WaitingSums, 'minimumPayoutCents'>[]
  affiliates?: Page<WaitingAffiliate>
}

/** Until the last debt that a batch can carry forward, which is dated one millisecond later. */
const ALL_TIME = { periodStart: '0001-01-01T00:00:00.000Z', periodEnd: '9999-12-31T23:59:59.998Z' }

/**
 * Reads every approved commission. Only totals and one page are copied between threads, because there are many
 * affiliates.
 */
export const waitingReport = defineReport(
  import.meta.url,
  'waitingReport',
  async (
    db,
    { shopId, query: { minimums, at, filter, list } }: { shopId: string; query: WaitingQuery },
  ): Promise<Found> => {
    const waiting = await readWaitingBalances(db, shopId, { filter: filter ?? { ...ALL_TIME, at }, minimums })
    // Only the totals of everything are compared with open batches.
    const batches: Awaited<ReturnType<typeof sumInOpenBatches>> = filter
      ? new Map()
      : await sumInOpenBatches(db, shopId)
    const byCurrency = Map.groupBy(waiting, ({ currency }) => currency)
    const sums: Found['sums'] = []
    let affiliates: Found['affiliates']
    for (const currency of [...new Set([...byCurrency.keys(), ...batches.keys()])].sort()) {
      const balances = byCurrency.get(currency) ?? []
      const inOpenBatches = batches.get(currency) ?? { commissions: 0, netPayableCents: 0 }
      sums.push({ currency, parts: partsOf(balances), inOpenBatches })
      if (list?.currency === currency) affiliates = await pageOf(db, shopId, { balances, list })
    }
    return { sums, ...(list && { affiliates: affiliates ?? toPage([], list, 0) }) }
  },
  { isLong: true },
)

async function readWaitingBalances(db: Reader, shopId: string, query: BalanceQuery): Promise<WaitingBalance[]> {
  const balances = await readBalances(db, shopId, query)
  const methods = await findMethods(db, shopId, [...new Set(balances.map(({ affiliateId }) => affiliateId))])
  return balances.map(({ affiliateId, currency, commissions, reason: fate, ...cents }) => {
    const netPayableCents = Number(cents.netCents)
    const method = methods.get(affiliateId) ?? null
    const reason = blockedReason(method, currency, netPayableCents)
    const part = fate === 'PAYABLE' && netPayableCents > 0 && reason ? 'BLOCKED' : fate
    const commissionCents = Number(cents.commissionCents)
    return { affiliateId, currency, part, method, reason, commissions, commissionCents, netPayableCents }
  })
}

function partsOf(balances: WaitingBalance[]): WaitingSums['parts'] {
  const parts: WaitingSums['parts'] = {}
  for (const { part, commissions, netPayableCents } of balances) {
    const sum = parts[part] ?? { affiliates: 0, commissions: 0, netPayableCents: 0 }
    parts[part] = {
      affiliates: sum.affiliates + 1,
      commissions: sum.commissions + commissions,
      netPayableCents: sum.netPayableCents + netPayableCents,
    }
  }
  return parts
}

/** Sorted by absolute balance, largest first. */
async function pageOf(
  db: Reader,
  shopId: string,
  { balances, list }: { balances: WaitingBalance[]; list: WaitingList },
): Promise<Page<WaitingAffiliate>> {
  const size = ({ netPayableCents }: WaitingBalance) => Math.abs(netPayableCents)
  const filtered = balances
    .filter(({ part }) => list.parts.includes(part))
    .sort((a, b) => size(b) - size(a) || (a.affiliateId < b.affiliateId ? -1 : 1))
  const shown = filtered.slice((list.page - 1) * list.limit, list.page * list.limit)
  const contacts = await findContacts(
    db,
    shopId,
    shown.map(({ affiliateId }) => affiliateId),
  )
  const named = shown.map((affiliate) => ({
    name: '',
    email: '',
    ...contacts.get(affiliate.affiliateId),
    ...affiliate,
  }))
  return toPage(named, list, filtered.length)
}

/** The number of approved commissions, in an open batch or in none. */
export const countWaiting = ({ db, shop }: Context): Promise<number> => countApproved(db.read, shop.id)

/** The currencies of approved commissions, in an open batch or in none. */
export const approvedCurrencies = ({ db, shop }: Context): Promise<string[]> => listApprovedCurrencies(db.read, shop.id)

/**
 * Approved commissions that are in no batch, by currency, and some of their affiliates. Does not audit; the caller
 * must.
 *
 * @param filter a batch's filter; defaults to all commissions
 */
export async function readWaiting(
  ctx: Context,
  { list, filter }: { list?: WaitingList; filter?: CandidateFilter } = {},
): Promise<{ sums: WaitingSums[]; affiliates: Page<WaitingAffiliate> | undefined }> {
  const query = {
    at: nowIso(ctx),
    minimums: affiliateMinimumsByCurrency(ctx.shop),
    ...(filter && { filter }),
    ...(list && { list }),
  }
  const { sums, affiliates } = await readFrom(ctx, waitingReport, query)
  return { sums: sums.map((sum) => ({ ...sum, minimumPayoutCents: minimumOf(ctx, sum.currency) })), affiliates }
}

/** The parts that a batch of everything would contain. Blocked payments can be sent later. */
export const IN_NEW_BATCH: readonly WaitingPart[] = ['PAYABLE', 'BLOCKED']

const MAX_PREVIEWED = 1000

/** The batch that would be created, with its largest payees. */
export async function previewBatch(ctx: Context, body: Body<'createPayout'>): Promise<Schemas['PayoutBatch']> {
  const batch = await create(ctx, body)
  const list = { currency: batch.currency, parts: IN_NEW_BATCH, page: 1, limit: MAX_PREVIEWED }
  const { affiliates } = await readWaiting(ctx, { list, filter: parseCandidateFilter(ctx, body) })
  const lines = affiliates?.data.map(({ affiliateId, name, email, commissions, commissionCents, netPayableCents }) => {
    const amounts = { commissionCents, taxWithheldCents: commissionCents - netPayableCents, netPayableCents }
    return { affiliateId, name, email, commissions, ...amounts }
  })
  return { ...batch, lines: lines ?? [] }
}

/** The sum of several parts. */
export function sumOf({ parts }: Pick<WaitingSums, 'parts'>, names: readonly WaitingPart[]): WaitingSum {
  const total = { affiliates: 0, commissions: 0, netPayableCents: 0 }
  for (const name of names) {
    const { affiliates = 0, commissions = 0, netPayableCents = 0 } = parts[name] ?? {}
    total.affiliates += affiliates
    total.commissions += commissions
    total.netPayableCents += netPayableCents
  }
  return total
}

function minimumOf(ctx: Context, currency: string): number | null {
  try {
    return minimumPayout(ctx, currency)
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}
