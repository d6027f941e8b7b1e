import type { Reader } from '../../database/database.ts'
import {
  type CandidateFilter,
  listIneligibleAffiliateIds,
  sumUnbatched,
  type UnbatchedSum,
} from '../ledger/batch-commissions.ts'

/** Why a period's batch does not pay a balance. `PAYABLE` means that it does. */
export type BalanceReason = 'PAYABLE' | 'LATE' | 'ON_HOLD' | 'BELOW_MINIMUM' | 'DEBT' | 'HELD_BACK'

/** An affiliate's approved commissions in one currency that are in no batch, and what happens to them. */
export interface Balance {
  affiliateId: string
  currency: string
  reason: BalanceReason
  commissions: number
  commissionCents: bigint
  netCents: bigint
  /** The minimum, if the balance is below it. */
  minimumCents: number | null
  oldestAt: string
  /** When the first commission on hold becomes available. */
  availableAt: string | null
}

export interface BalanceQuery {
  /** The batch. */
  filter: CandidateFilter
  /** The minimum per affiliate in a batch, in cents by currency. */
  minimums: Record<string, number>
}

/** Approved balances until a batch's end. Reads every approved commission, so it runs in the report worker. */
export async function readBalances(db: Reader, shopId: string, query: BalanceQuery): Promise<Balance[]> {
  const sums = await sumUnbatched(db, shopId, query.filter)
  const heldBack = new Set(await listIneligibleAffiliateIds(db, shopId))
  return [...Map.groupBy(sums, ({ affiliateId, currency }) => `${affiliateId} ${currency}`).values()].flatMap((rows) =>
    heldBack.has(rows[0]?.affiliateId ?? '') ? balancesOf(rows, 'HELD_BACK') : splitBalance(rows, query),
  )
}

/** An affiliate's commissions in one currency: the ones that the batch selects, and the rest. */
function splitBalance(all: UnbatchedSum[], { filter, minimums }: BalanceQuery): Balance[] {
  const sums = all.filter(({ isOnHold }) => isOnHold === 0)
  const minimum = minimums[all[0]?.currency ?? ''] ?? 0
  const selected = sums.filter(({ place }) => place === 'PERIOD' || (place === 'EARLIER' && filter.includeEarlier))
  const rest = sums.filter((sum) => !selected.includes(sum))
  const net = netOf(selected)
  const isBelow = net > 0n && net < BigInt(minimum)
  return [
    // The batch carries a debt forward.
    ...balancesOf(selected, net < 0n ? 'DEBT' : isBelow ? 'BELOW_MINIMUM' : 'PAYABLE', isBelow ? minimum : null),
    ...balancesOf(
      rest.filter(({ place }) => place === 'EARLIER'),
      netOf(rest) < 0n ? 'DEBT' : 'LATE',
    ),
    ...balancesOf(
      all.filter(({ isOnHold }) => isOnHold === 1),
      'ON_HOLD',
    ),
    ...balancesOf(
      rest.filter(({ place }) => place === 'CARRIED'),
      'DEBT',
    ),
  ]
}

const netOf = (sums: UnbatchedSum[]): bigint =>
  sums.reduce((net, { commissionAmountCents, taxWithheldCents }) => net + commissionAmountCents - taxWithheldCents, 0n)

function balancesOf(sums: UnbatchedSum[], reason: BalanceReason, minimumCents: number | null = null): Balance[] {
  const [first] = sums
  if (!first) return []
  const { affiliateId, currency } = first
  const commissions = sums.reduce((count, sum) => count + sum.commissions, 0)
  const commissionCents = sums.reduce((total, sum) => total + sum.commissionAmountCents, 0n)
  const oldestAt = sums.map((sum) => sum.oldestAt).sort()[0] ?? ''
  const availableAt = reason === 'ON_HOLD' ? (sums.map((sum) => sum.nextAvailableAt).sort()[0] ?? null) : null
  const cents = { commissionCents, netCents: netOf(sums), minimumCents }
  return [{ affiliateId, currency, reason, commissions, ...cents, oldestAt, availableAt }]
}
