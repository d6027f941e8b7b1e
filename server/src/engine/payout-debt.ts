import { type PayoutRow, payoutLines } from './payout.ts'

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
        open: { ...row, commissionAmountCents: netPayableCents, happenedAt: justAfter(periodEnd) },
      }
    })
}

/** At the end of the calendar there is no next instant: five-digit years would sort before all others. */
function justAfter(instant: string): string {
  const next = Date.parse(instant) + 1
  return next < Date.UTC(10_000, 0) ? new Date(next).toISOString() : instant
}
