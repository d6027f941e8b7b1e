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
  /** When the first of the commissions on hold becomes available; null without any. */
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

/** What the run of a `PROCESSING` batch needs, so that any process can complete it. */
export interface BatchProcess {
  /** The status of the batch once its commissions have moved: `OPEN` when it is created, `FAILED` when it is canceled. */
  becomes: 'OPEN' | 'PAID' | 'FAILED'
  /** How many commissions are expected to move. */
  commissions: number
  /** When the run began: `updatedAt` of its commissions, and when they are paid. */
  at: string
  /** Which commissions a new batch takes. */
  filter?: CandidateFilter
  previousStatus?: PayoutBatchRow['status']
  /** The request that began it. */
  actor: string
  requestId: string
  traceparent?: string
  idempotency?: { key: string; fingerprints: [string, ...string[]] }
}

/** The commissions that a batch selects; both instants are inclusive. */
export interface CandidateFilter {
  /** When it was asked for: commissions that become available later are on hold. */
  at: string
  periodStart: string
  periodEnd: string
  /** Also selects commissions from before `periodStart`. */
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
