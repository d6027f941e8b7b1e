import { invalidField, totalTooLarge } from '../../contract/errors.ts'
import type { components } from '../../contract/schema.d.ts'
import { type Context, nowIso } from '../../core/context.ts'
import { readFrom } from '../../core/lists.ts'
import { recordAccess } from '../../core/mutate.ts'
import { parseQueryInstant } from '../../core/time.ts'
import { defineReport } from '../../database/database.ts'
import { exactSum } from '../../engine/money.ts'
import { affiliateMinimumsByCurrency } from '../accounts/settings.ts'
import { type Balance, type BalanceQuery, type BalanceReason, readBalances } from './balances.ts'
import { findContacts } from './payouts.ts'

type Schemas = components['schemas']
type Reason = Exclude<BalanceReason, 'PAYABLE'>

interface UnpaidInput {
  periodStart: string
  periodEnd: string
  includeEarlier: boolean
  currency?: string
  affiliateId?: string
  programId?: string
}

/**
 * The approved balances that a period's batch does not pay, and why. Records the access.
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

/** {@link read} for callers that record the access. */
export async function describe(ctx: Context, input: UnpaidInput): Promise<Schemas['Unpaid']> {
  const { periodStart, periodEnd, includeEarlier, currency, affiliateId, programId } = input
  const filter = { at: nowIso(ctx), periodStart, periodEnd, includeEarlier, currency, programId }
  const query = {
    filter: affiliateId ? { ...filter, affiliateIds: [affiliateId] } : filter,
    minimums: affiliateMinimumsByCurrency(ctx.shop),
  }
  const report = await readFrom(ctx, unpaidReport, query)
  if (!report) throw totalTooLarge('Filter by affiliate, program or currency.')
  return { periodStart, periodEnd, includeEarlier, ...report }
}

/** How many affiliates a response lists. */
const MAX_NAMED = 100

type Found = Pick<Schemas['Unpaid'], 'reasons' | 'affiliates' | 'truncated'>

/** Null when a sum exceeds the largest exact integer. */
export const unpaidReport = defineReport(
  import.meta.url,
  'unpaidReport',
  async (db, { shopId, query }: { shopId: string; query: BalanceQuery }): Promise<Found | null> => {
    const unpaid = (await readBalances(db, shopId, query))
      .filter(isUnpaid)
      .sort((a, b) =>
        a.netCents === b.netCents ? (a.affiliateId < b.affiliateId ? -1 : 1) : a.netCents > b.netCents ? -1 : 1,
      )
    const named = unpaid.slice(0, MAX_NAMED)
    const reasons = sumByReason(unpaid)
    if (!reasons) return null
    const contacts = await findContacts(db, shopId, new Set(named.map(({ affiliateId }) => affiliateId)))
    const affiliates = named.map(({ affiliateId, netCents, commissionCents: _, ...balance }) => {
      const { name = '', email = '' } = contacts.get(affiliateId) ?? {}
      return { affiliateId, name, email, ...balance, netPayableCents: Number(netCents) }
    })
    return { reasons, affiliates, truncated: unpaid.length > named.length }
  },
  { isLong: true },
)

type UnpaidBalance = Balance & { reason: Reason }

const isUnpaid = (balance: Balance): balance is UnpaidBalance => balance.reason !== 'PAYABLE'

function sumByReason(balances: UnpaidBalance[]): Schemas['Unpaid']['reasons'] | null {
  const groups = Map.groupBy(balances, ({ reason, currency }) => `${reason} ${currency}`)
  const reasons: Schemas['Unpaid']['reasons'] = []
  for (const [, group] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const netPayableCents = exactSum(group.map(({ netCents }) => netCents))
    const [first] = group
    if (netPayableCents === null || !first) return null
    const commissions = group.reduce((count, balance) => count + balance.commissions, 0)
    const affiliates = new Set(group.map(({ affiliateId }) => affiliateId)).size
    reasons.push({ reason: first.reason, currency: first.currency, affiliates, commissions, netPayableCents })
  }
  return reasons
}
