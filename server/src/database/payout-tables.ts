export interface PayoutBatchRow {
  id: string
  shopId: string
  status: 'OPEN' | 'PROCESSING' | 'PAID' | 'FAILED'
  periodStart: string
  periodEnd: string
  includeEarlier: 0 | 1
  currency: string
  commissions: number
  affiliates: number
  commissionCents: number
  taxWithheldCents: number
  netPayableCents: number
  heldBackCommissions: number
  heldBackCents: number
  minimumPayoutCents: number
  failureReason: string | null
  version: number
  createdAt: string
  updatedAt: string
  paidAt: string | null
}

/**
 * The steps that a large batch still needs. While the row exists, reads derive the status and the batch of its commissions
 * from `phase`; see commissions/job-queries.ts. There is no batch row before `ASSIGNING`.
 */
export interface PayoutJobRow {
  shopId: string
  batchId: string
  /**
   * `RESERVING`: under construction, its commissions are reserved and look unchanged. `UNDOING`: the reservation is given
   * up. `ASSIGNING`: created, its commissions become `PAYABLE`. `PAYING`: they become `PAID`. `RELEASING`: canceled, they
   * become `APPROVED` without a batch.
   */
  phase: 'RESERVING' | 'UNDOING' | 'ASSIGNING' | 'PAYING' | 'RELEASING'
  /** When the batch was created, paid or canceled: `updatedAt` of its commissions. */
  changedAt: string
  /** JSON of what a batch under construction selects. */
  filter: string | null
  /** The `Idempotency-Key` of the request that constructs the batch. */
  idempotencyKey: string | null
  /** The last commission that was changed, newest first. */
  cursorAt: string | null
  cursorId: string | null
  /** The run that holds the lease, and when the lease expires. */
  claimedBy: string
  claimedUntil: string
}

/** How a reserved commission changed since it was reserved, so that the batch under construction has exact totals. */
export interface ReservationChangeRow {
  shopId: string
  batchId: string
  commissionId: string
  /** Of the commission, before the change. */
  version: number
  affiliateId: string
  programId: string | null
  /** -1 when the commission left the reservation. */
  commissions: 0 | -1
  commissionCents: number
  taxWithheldCents: number
}
