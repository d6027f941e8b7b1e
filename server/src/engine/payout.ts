import { exactSum, hundredthsOf, toBigInt } from './money.ts'

/** What batch arithmetic reads of a commission; amounts in cents, negative in adjustments. */
export interface PayoutRow {
  affiliateId: string
  currency: string
  commissionAmountCents: number | bigint
  taxWithheldCents: number | bigint
  /** How many rows were summed up in this one; 1 when not set. */
  commissions?: number
}

/** Sums in cents; `netPayableCents` = `commissionCents` − `taxWithheldCents`. */
export interface PayoutSums {
  commissions: number
  commissionCents: number
  taxWithheldCents: number
  netPayableCents: number
}

/** The computed totals of a batch (section 2.5). */
export interface PayoutTotals extends PayoutSums {
  affiliates: number
}

/** What a batch pays to one affiliate. */
export interface PayoutLine extends PayoutSums {
  affiliateId: string
}

/** Totals of the rows of a batch, all of one currency; null when they cannot be exact. */
export function payoutTotals(rows: readonly PayoutRow[]): PayoutTotals | null {
  const affiliates = new Set(rows.map((row) => row.affiliateId)).size
  const totals = sumRows(rows)
  if (!totals) return null
  const { commissions, commissionCents, taxWithheldCents, netPayableCents } = totals
  return { commissions, affiliates, commissionCents, taxWithheldCents, netPayableCents }
}

/** One line per affiliate, by affiliate id; their sums are the batch's totals. Null when a line cannot be exact. */
export function payoutLines(rows: readonly PayoutRow[]): PayoutLine[] | null {
  const byAffiliate = Map.groupBy(rows, (row) => row.affiliateId)
  const lines: PayoutLine[] = []
  for (const [affiliateId, own] of [...byAffiliate].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const line = sumRows(own)
    if (!line) return null
    lines.push({ affiliateId, ...line })
  }
  return lines
}

/** What waits because its affiliate is archived or rejected; null when the sum cannot be exact. */
export function heldBack(rows: readonly PayoutRow[]): Pick<PayoutSums, 'commissions' | 'commissionCents'> | null {
  const waiting = sumRows(rows)
  return waiting && { commissions: waiting.commissions, commissionCents: waiting.commissionCents }
}

/** The currencies of the rows in alphabetical order; more than one cannot share a batch (section 4.4). */
export function currenciesOf(rows: readonly PayoutRow[]): string[] {
  return [...new Set(rows.map((row) => row.currency))].sort()
}

/** The minimum payout in cents, or why nobody can tell. */
export type Threshold = { ok: true; minimumPayoutCents: number } | { ok: false; reason: 'NEEDS_RECONCILIATION' }

/** Where a minimum payout may be set; null: not set. `legacyMinimumPayout` is in currency units (`25.5`). */
export interface ThresholdSettings {
  minimumPayoutCents: number | null
  defaultMinimumPayoutCents: number | null
  legacyMinimumPayout: number | null
}

/**
 * The minimum payout that holds: the shop's, else the server's, else 0. A legacy threshold that says something else
 * must be reconciled first (section 4.4): nobody knows which of the two the merchant means.
 */
export function resolveThreshold(settings: ThresholdSettings): Threshold {
  const minimumPayoutCents = settings.minimumPayoutCents ?? settings.defaultMinimumPayoutCents ?? 0
  const { legacyMinimumPayout: legacy } = settings
  const agrees = legacy === null || (hundredthsOf(legacy) === toBigInt(minimumPayoutCents) && isWholeCents(legacy))
  return agrees ? { ok: true, minimumPayoutCents } : { ok: false, reason: 'NEEDS_RECONCILIATION' }
}

function isWholeCents(units: number): boolean {
  return /^\d+(\.\d{1,2})?$/.test(String(units))
}

function sumRows(rows: readonly PayoutRow[]): PayoutSums | null {
  const commissionCents = exactSum(rows.map((row) => row.commissionAmountCents))
  const taxWithheldCents = exactSum(rows.map((row) => row.taxWithheldCents))
  if (commissionCents === null || taxWithheldCents === null) return null
  const netPayableCents = exactSum([commissionCents, -taxWithheldCents])
  if (netPayableCents === null) return null
  const commissions = rows.reduce((total, row) => total + (row.commissions ?? 1), 0)
  return { commissions, commissionCents, taxWithheldCents, netPayableCents }
}

/** An ADJUSTMENT to write; `happenedAt` is ISO 8601 UTC. */
export interface DebtRow extends PayoutRow {
  commissionAmountCents: number
  taxWithheldCents: number
  happenedAt: string
}

/** A debt that a batch cannot collect: `balancing` joins the batch, `open` waits for the next one. */
export interface CarriedDebt {
  affiliateId: string
  /** Positive. */
  debtCents: number
  balancing: DebtRow
  open: DebtRow
}

/**
 * Affiliates whose net in a batch is below zero are paid nothing and owe the rest: a balancing adjustment of +debt
 * lifts the batch's line to zero, an open one of −debt falls 1 ms after `periodEnd`, so that the next period nets it.
 * The rows are those of one batch, so all of one currency. No tax stands on a debt, which is net already. Null when
 * the line of an affiliate cannot be exact.
 */
export function carryDebts(rows: readonly PayoutRow[], periodEnd: string): CarriedDebt[] | null {
  const currency = rows[0]?.currency ?? ''
  const lines = payoutLines(rows)
  if (!lines) return null
  return lines
    .filter((line) => line.netPayableCents < 0)
    .map(({ affiliateId, netPayableCents }) => {
      const row = { affiliateId, currency, taxWithheldCents: 0 }
      return {
        affiliateId,
        debtCents: -netPayableCents,
        balancing: { ...row, commissionAmountCents: -netPayableCents, happenedAt: periodEnd },
        open: { ...row, commissionAmountCents: netPayableCents, happenedAt: nextInstant(periodEnd) },
      }
    })
}

/** At the end of the calendar there is no next instant: five-digit years would sort before all others. */
function nextInstant(instant: string): string {
  const next = Date.parse(instant) + 1
  return next < Date.UTC(10_000, 0) ? new Date(next).toISOString() : instant
}
