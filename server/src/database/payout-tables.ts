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
 * from `phase`; see domains/commissions/job-queries.ts. There is no batch row before `ASSIGNING`.
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
  /** -1 when the commission left the reservation; 1 for a debt of a batch that exists, which a step inserts. */
  commissions: -1 | 0 | 1
  commissionCents: number
  taxWithheldCents: number
}

/** A payment file with lines of one batch. */
export interface PayoutFileRow {
  shopId: string
  /** Chosen by the owner, so that a repeated request returns the same file. */
  id: string
  batchId: string
  format: 'csv' | 'paypal' | 'wise' | 'sepa'
  currency: string
  /** `PREPARING` while lines are added in steps. The lines of a `DISCARDED` file do not count, and are deleted in steps. */
  status: 'PREPARING' | 'SENT' | 'DISCARDED'
  /** 1 once a refund, a cancellation or a result has counted a commission of the file as paid. */
  assumedPaid: 0 | 1
  executionDate: string | null
  /** The account that a SEPA file pays from, sealed. */
  debtor: string | null
  /** What payees read; null in files of earlier versions. */
  note: string | null
  lines: number
  totalCents: number
  settledLines: number
  settledCents: number
  returnedLines: number
  returnedCents: number
  createdAt: string
  updatedAt: string
}

/** The payment of an affiliate in a batch, since it was sent. Its amount no longer changes. */
export interface PayoutLineRow {
  shopId: string
  /** Follows from batch and affiliate, so that a payment has the same reference after a restore. */
  id: string
  fileId: string
  batchId: string
  affiliateId: string
  state: 'SENT' | 'SETTLED' | 'RETURNED'
  currency: string
  /** The program of a line of one program only, so that a batch of that program collects a return. */
  programId: string | null
  commissions: number
  commissionCents: number
  taxWithheldCents: number
  /** What was sent: `commissionCents` less `taxWithheldCents`. */
  amountCents: number
  method: 'PAYPAL' | 'WISE' | 'SEPA'
  /** The payee details and the name and address of the affiliate when the file was created, sealed. */
  details: string
  /** As the bank or payment service reported them. */
  reference: string | null
  reason: string | null
  date: string | null
  createdAt: string
  updatedAt: string
}
