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
  onHoldCommissions: number
  onHoldCents: number
  /** When the first commission on hold becomes available, or null. */
  nextAvailableAt: string | null
  minimumPayoutCents: number
  failureReason: string | null
  version: number
  createdAt: string
  updatedAt: string
  paidAt: string | null
  /** While it is `PROCESSING`: JSON of `BatchProcess`, how many commissions have moved, and the run that moves them. */
  process: string | null
  movedCommissions: number | null
  claimedBy: string | null
  /** When the run counts as dead. Each step renews it. */
  claimedUntil: string | null
}

/** The state of a `PROCESSING` batch's run, so that any process can complete it. */
export interface BatchProcess {
  /** The batch's status once its commissions have moved: `OPEN` when it is created, `FAILED` when it is canceled. */
  becomes: 'OPEN' | 'PAID' | 'FAILED'
  /** How many commissions are expected to move. */
  commissions: number
  /** When the run started: its commissions' `updatedAt`, and their time of payment. */
  at: string
  /** Which commissions a new batch takes. */
  filter?: CandidateFilter
  previousStatus?: PayoutBatchRow['status']
  /** The request that started it. */
  actor: string
  requestId: string
  traceparent?: string
  idempotency?: { key: string; fingerprints: [string, ...string[]] }
}

/** The commissions that a batch selects. Both instants are inclusive. */
export interface CandidateFilter {
  /** The time of the request. Commissions that become available later are on hold. */
  at: string
  periodStart: string
  periodEnd: string
  /** Whether to include commissions from before `periodStart`. */
  includeEarlier?: boolean
  currency?: string | null
  affiliateIds?: string[] | null
  programId?: string | null
  exceptAffiliateIds?: string[]
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
  /** 1 once a refund, a cancellation, or a result has counted one of the file's commissions as paid. */
  assumedPaid: 0 | 1
  executionDate: string | null
  /** The account that a SEPA file pays from, sealed. */
  debtor: string | null
  /** The remittance text for payees. Null in earlier versions' files. */
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

/** An affiliate's sent payment in a batch. Its amount no longer changes. */
export interface PayoutLineRow {
  shopId: string
  /** Derived from batch and affiliate, so that a payment has the same reference after a restore. */
  id: string
  fileId: string
  batchId: string
  affiliateId: string
  state: 'SENT' | 'SETTLED' | 'RETURNED'
  currency: string
  /** The line's program if there is only one, so that this program's batches collect a returned amount. */
  programId: string | null
  commissions: number
  commissionCents: number
  taxWithheldCents: number
  /** The amount sent: `commissionCents` less `taxWithheldCents`. */
  amountCents: number
  method: 'PAYPAL' | 'WISE' | 'SEPA'
  /** The affiliate's payee details, name, and address at the time the file was created, sealed. */
  details: string
  /** As reported by the bank or payment service. */
  reference: string | null
  reason: string | null
  date: string | null
  createdAt: string
  updatedAt: string
}
