import { invalidField, totalTooLarge } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import type { Context } from '../../core/context.ts'
import { readFrom } from '../../core/lists.ts'
import { recordAccess } from '../../core/mutate.ts'
import { parseQueryInstant } from '../../core/time.ts'
import { defineReport } from '../../database/database.ts'
import { exactSum } from '../../engine/money.ts'
import { affiliateMinimumsByCurrency } from '../accounts/settings.ts'
import { type CandidateFilter, listIneligibleAffiliateIds, sumUnbatched, type UnbatchedSum } from '../ledger/payouts.ts'
import { findContacts } from './payouts.ts'

type Schemas = components['schemas']
type Reason = 'LATE' | 'BELOW_MINIMUM' | 'DEBT' | 'HELD_BACK'

interface UnpaidInput {
  periodStart: string
  periodEnd: string
  includeEarlier: boolean
  currency?: string
  affiliateId?: string
  programId?: string
}

/**
 * The approved balances that a batch of a period does not pay, and why. Records the access.
 *
 * @throws ApiError 400 `period_invalid`, 409 `total_too_large`, 503 `audit_unavailable`.
 */
export async function read(ctx: Context, input: UnpaidInput): Promise<Schemas['Unpaid']> {
  const periodStart = parseQueryInstant('periodStart', input.periodStart)
  const periodEnd = parseQueryInstant('periodEnd', input.periodEnd)
  if (periodEnd <= periodStart)
    throw invalidField('period_invalid', 'periodEnd', 'must be after the start of the period.')
  await recordAccess(ctx, 'payouts.accessed', null)
  return describe(ctx, { ...input, periodStart, periodEnd })
}

/** {@link read} for a caller that records the access. */
export async function describe(ctx: Context, input: UnpaidInput): Promise<Schemas['Unpaid']> {
  const { periodStart, periodEnd, includeEarlier, currency, affiliateId, programId } = input
  const filter = { periodStart, periodEnd, includeEarlier, currency, programId }
  const query = {
    filter: affiliateId ? { ...filter, affiliateIds: [affiliateId] } : filter,
    minimums: affiliateMinimumsByCurrency(ctx.shop),
  }
  const found = await readFrom(ctx, unpaidReport, query)
  if (!found) throw totalTooLarge('Filter by affiliate, program or currency.')
  return { periodStart, periodEnd, includeEarlier, ...found }
}

/** How many affiliates a reply names. */
const MAX_NAMED = 100

interface UnpaidQuery {
  filter: CandidateFilter
  minimums: Record<string, number>
}

type Found = Pick<Schemas['Unpaid'], 'reasons' | 'affiliates' | 'truncated'>

/** Null when a sum exceeds the largest exact integer. */
export const unpaidReport = defineReport(
  import.meta.url,
  'unpaidReport',
  async (
    db,
    { shopId, query: { filter, minimums } }: { shopId: string; query: UnpaidQuery },
  ): Promise<Found | null> => {
    const sums = await sumUnbatched(db, shopId, filter)
    const heldBack = new Set(await listIneligibleAffiliateIds(db, shopId))
    const balances = [...Map.groupBy(sums, ({ affiliateId, currency }) => `${affiliateId} ${currency}`).values()]
      .flatMap((own) => unpaidOf(own, { filter, minimums, isHeldBack: heldBack.has(own[0]?.affiliateId ?? '') }))
      .sort((a, b) => (a.net === b.net ? (a.affiliateId < b.affiliateId ? -1 : 1) : a.net > b.net ? -1 : 1))
    const named = balances.slice(0, MAX_NAMED)
    const reasons = sumByReason(balances)
    if (!reasons) return null
    const contacts = await findContacts(db, shopId, new Set(named.map(({ affiliateId }) => affiliateId)))
    const affiliates = named.map(({ net, affiliateId, ...balance }) => {
      const { name = '', email = '' } = contacts.get(affiliateId) ?? {}
      return { affiliateId, name, email, ...balance, netPayableCents: Number(net) }
    })
    return { reasons, affiliates, truncated: balances.length > named.length }
  },
  { isLong: true },
)

interface Balance {
  affiliateId: string
  reason: Reason
  currency: string
  commissions: number
  net: bigint
  minimumCents: number | null
  oldestAt: string
}

interface Rules extends UnpaidQuery {
  isHeldBack: boolean
}

/** The part of one affiliate's commissions in one currency that a batch does not pay. */
function unpaidOf(sums: UnbatchedSum[], { filter, minimums, isHeldBack }: Rules): Balance[] {
  if (isHeldBack) return balancesOf(sums, 'HELD_BACK')
  const minimumCents = minimums[sums[0]?.currency ?? ''] ?? 0
  const selected = sums.filter(({ place }) => place === 'PERIOD' || (place === 'EARLIER' && filter.includeEarlier))
  const rest = sums.filter((sum) => !selected.includes(sum))
  const net = netOf(selected)
  const isBelow = net > 0n && net < BigInt(minimumCents)
  return [
    ...(isBelow ? balancesOf(selected, 'BELOW_MINIMUM', minimumCents) : []),
    // The batch carries it forward.
    ...(net < 0n ? balancesOf(selected, 'DEBT') : []),
    ...balancesOf(
      rest.filter(({ place }) => place === 'EARLIER'),
      netOf(rest) < 0n ? 'DEBT' : 'LATE',
    ),
    ...balancesOf(
      rest.filter(({ place }) => place === 'CARRIED'),
      'DEBT',
    ),
  ]
}

const netOf = (sums: UnbatchedSum[]): bigint =>
  sums.reduce((net, { commissionAmountCents, taxWithheldCents }) => net + commissionAmountCents - taxWithheldCents, 0n)

function balancesOf(sums: UnbatchedSum[], reason: Reason, minimumCents: number | null = null): Balance[] {
  const [first] = sums
  if (!first) return []
  const { affiliateId, currency } = first
  const commissions = sums.reduce((count, sum) => count + sum.commissions, 0)
  const oldestAt = sums.map((sum) => sum.oldestAt).sort()[0] ?? ''
  return [{ affiliateId, reason, currency, commissions, net: netOf(sums), minimumCents, oldestAt }]
}

function sumByReason(balances: Balance[]): Schemas['Unpaid']['reasons'] | null {
  const groups = Map.groupBy(balances, ({ reason, currency }) => `${reason} ${currency}`)
  const reasons: Schemas['Unpaid']['reasons'] = []
  for (const [, group] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const netPayableCents = exactSum(group.map(({ net }) => net))
    const [first] = group
    if (netPayableCents === null || !first) return null
    const commissions = group.reduce((count, balance) => count + balance.commissions, 0)
    const affiliates = new Set(group.map(({ affiliateId }) => affiliateId)).size
    reasons.push({ reason: first.reason, currency: first.currency, affiliates, commissions, netPayableCents })
  }
  return reasons
}
