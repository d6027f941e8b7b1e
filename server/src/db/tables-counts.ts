/** How many rows of a list there are, by scope, program and status; kept by triggers (migrations/0002-row-counts.ts). */
export interface RowCountRow {
  shopId: string
  list: 'commissions' | 'affiliates' | 'payoutBatches' | 'deliveries'
  /** Empty for all, an affiliate's id, or `day:YYYY-MM-DD`. */
  scope: string
  /** Empty for none. */
  programId: string
  status: string
  rows: number
}
