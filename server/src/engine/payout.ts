import { exactSum, scaleExactly, toBigInt } from './money.ts'

/** The fields of a commission that batch totals use; amounts in cents, negative in adjustments. */
export interface PayoutRow {
  affiliateId: string
  currency: string
  commissionAmountCents: number | bigint
  taxWithheldCents: number | bigint
  /** How many commissions this row sums; defaults to 1. */
  commissions?: number
}

/** Totals in cents. `netPayableCents` = `commissionCents` − `taxWithheldCents`. */
interface PayoutSums {
  commissions: number
  commissionCents: number
  taxWithheldCents: number
  netPayableCents: number
}

/** The computed totals of a batch. */
export interface PayoutTotals extends PayoutSums {
  affiliates: number
}

/** What a batch pays to one affiliate. */
export interface PayoutLine extends PayoutSums {
  affiliateId: string
}

/** Totals of the rows of a batch, all of one currency; null when they exceed the safe range. */
export function payoutTotals(rows: readonly PayoutRow[]): PayoutTotals | null {
  const affiliates = new Set(rows.map((row) => row.affiliateId)).size
  const totals = sumRows(rows)
  if (!totals) return null
  const { commissions, commissionCents, taxWithheldCents, netPayableCents } = totals
  return { commissions, affiliates, commissionCents, taxWithheldCents, netPayableCents }
}

/** One line per affiliate, by affiliate id; the lines sum to the totals of the batch. Null when a line exceeds the safe range. */
export function payoutLines(rows: readonly PayoutRow[]): PayoutLine[] | null {
  const byAffiliate = Map.groupBy(rows, (row) => row.affiliateId)
  const lines: PayoutLine[] = []
  for (const [affiliateId, rows] of [...byAffiliate].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const line = sumRows(rows)
    if (!line) return null
    lines.push({ affiliateId, ...line })
  }
  return lines
}

/** The commissions held back because their affiliate is archived or rejected; null when the sum exceeds the safe range. */
export function heldBackTotals(rows: readonly PayoutRow[]): Pick<PayoutSums, 'commissions' | 'commissionCents'> | null {
  const waiting = sumRows(rows)
  return waiting && { commissions: waiting.commissions, commissionCents: waiting.commissionCents }
}

/** The currencies of the rows in alphabetical order. A batch has one currency. */
export function currenciesOf(rows: readonly PayoutRow[]): string[] {
  return [...new Set(rows.map((row) => row.currency))].sort()
}

/** The minimum payout in cents, or why it is undetermined. */
type MinimumPayout = { ok: true; minimumPayoutCents: number } | { ok: false; reason: 'NEEDS_RECONCILIATION' }

/** Settings for the minimum payout, null if not set. `legacyMinimumPayout` is in currency units (`25.5`). */
interface MinimumPayoutSettings {
  minimumPayoutCents: number | null
  defaultMinimumPayoutCents: number | null
  legacyMinimumPayout: number | null
  /** Of the minor unit of the shop's currency: 2 for USD, 0 for JPY. */
  digits: number
}

/**
 * Returns the effective minimum payout: the shop's, or the server's, or 0. A legacy setting that differs must be
 * reconciled first, because it is unknown which of the two the merchant intends.
 */
export function resolveMinimumPayout(settings: MinimumPayoutSettings): MinimumPayout {
  const minimumPayoutCents = settings.minimumPayoutCents ?? settings.defaultMinimumPayoutCents ?? 0
  const { legacyMinimumPayout: legacy } = settings
  const agrees = legacy === null || scaleExactly(legacy, settings.digits) === toBigInt(minimumPayoutCents)
  return agrees ? { ok: true, minimumPayoutCents } : { ok: false, reason: 'NEEDS_RECONCILIATION' }
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

/** A debt that a batch cannot collect: `balancing` joins the batch, `open` carries over to the next one. */
export interface CarriedDebt {
  affiliateId: string
  /** Positive. */
  debtCents: number
  balancing: DebtRow
  open: DebtRow
}

/**
 * Affiliates with a negative net in a batch are paid nothing and owe the difference: a balancing adjustment of +debt
 * raises the batch's line to zero, and an open one of −debt at 1 ms after `periodEnd` is netted in the next period.
 * All rows belong to one batch and so have one currency. A debt is net, so no tax applies. Null when the line of an
 * affiliate exceeds the safe range.
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

/** Stays within four-digit years, because text timestamps with five digits would sort first. */
export function nextInstant(instant: string): string {
  const next = Date.parse(instant) + 1
  return next < Date.UTC(10_000, 0) ? new Date(next).toISOString() : instant
}
